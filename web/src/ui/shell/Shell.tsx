import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { Problem } from "../../api/problem";
import type { ServerSettings } from "../../api/types";
import { useApp, useStoreOf } from "../../app/AppContext";
import { SETTINGS_KEY } from "../../app/compose";
import { ConversationPage } from "../conversation/ConversationPage";
import { Skeleton } from "../parts/Skeleton";
import { NoticeStack } from "./NoticeStack";
import { Sidebar } from "./Sidebar";
import { useKeptFocus } from "./useKeptFocus";
import { useShortcuts } from "./useShortcuts";

// Pages that few visits need come in files of their own.
const MemoryPage = lazy(() => import("../memory/MemoryPage"));
const OverviewPage = lazy(() => import("../overview/OverviewPage"));
const SettingsPage = lazy(() => import("../settings/SettingsPage"));
const Drawer = lazy(() => import("./Drawer"));
const KeyboardMap = lazy(() => import("./KeyboardMap"));
const SignIn = lazy(() => import("./SignIn"));

/** From this width on the sidebar is always there; the same as `md` in the styles. */
const WIDE = "(min-width: 48rem)";

export function Shell() {
  const { client, layout } = useApp();
  const isMapOpen = useStoreOf(layout.store, (state) => state.isKeyboardMapOpen);
  const isDrawerOpen = useStoreOf(layout.store, (state) => state.isDrawerOpen);
  const isReceiptOpen = useStoreOf(layout.store, (state) => state.isReceiptOpen);
  const settings = useQuery({ queryKey: SETTINGS_KEY, queryFn: () => client.get<ServerSettings>("/api/settings") });
  useShortcuts();
  useKeptFocus();
  if (settings.error instanceof Problem && settings.error.status === 401 && !isReceiptOpen) {
    return (
      <Suspense>
        <SignIn />
      </Suspense>
    );
  }
  return (
    <div className="flex h-dvh">
      {/* biome-ignore lint/a11y/useValidAnchor: it leads to a place of this page; the address itself is the route's. */}
      <a
        href="#main"
        className="-translate-y-20 fixed top-2 left-2 z-50 rounded-control bg-accent px-4 py-2 text-on-accent focus:translate-y-0"
        onClick={(event) => {
          // The address is taken by the route.
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        Skip to the conversation
      </a>
      <aside className="hidden w-72 shrink-0 border-line border-r md:flex" aria-label="Conversations">
        <Sidebar />
      </aside>
      {isDrawerOpen && !window.matchMedia(WIDE).matches && (
        <Suspense>
          <Drawer />
        </Suspense>
      )}
      <main id="main" tabIndex={-1} className="flex min-w-0 flex-1 flex-col bg-surface outline-offset-[-2px]">
        <Page />
      </main>
      <NoticeStack />
      {isMapOpen && (
        <Suspense>
          <KeyboardMap />
        </Suspense>
      )}
    </div>
  );
}

function Page() {
  const { router } = useApp();
  const page = useStoreOf(router.store, (state) => state.route.page);
  return (
    <Suspense fallback={<Skeleton className="m-6 h-24" />}>
      {page === "memories" ? (
        <MemoryPage />
      ) : page === "overview" ? (
        <OverviewPage />
      ) : page === "settings" ? (
        <SettingsPage />
      ) : (
        <ConversationPage />
      )}
    </Suspense>
  );
}
