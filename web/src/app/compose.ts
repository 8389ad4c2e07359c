import { QueryClient } from "@tanstack/react-query";
import { Client } from "../api/client";
import { asProblem, Problem } from "../api/problem";
import type { ServerSettings } from "../api/types";
import { createArchive, type Unarchived } from "../state/archive";
import { createConversation } from "../state/conversation";
import { createDrafts } from "../state/drafts";
import { createInspector } from "../state/inspector";
import { createLayout } from "../state/layout";
import { createMemoryView } from "../state/memoryView";
import { createNotices } from "../state/notices";
import { createOutbox, type Unsent } from "../state/outbox";
import { createRemovals } from "../state/removals";
import { createRouter } from "../state/route";
import { browserShelf } from "../state/shelf";
import { createSingleKeys } from "../state/shortcuts";
import { browserTabs } from "../state/tabs";
import { createTheme } from "../state/theme";
import { createConversationActions } from "./conversationActions";

export const SETTINGS_KEY = ["settings"];

/** Until the server tells its own. */
const USUAL_RULES = { everyMessages: 20, everyMinutes: 5 };

/** Put the parts of the app together; the only place that names the browser's own things. */
export function compose(window: Window & typeof globalThis) {
  const client = new Client();
  const queries = new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 30_000,
        refetchOnWindowFocus: false,
        retry: (count, error) => count < 3 && (!(error instanceof Problem) || error.isPassing),
      },
    },
  });
  const storage = storageOf(window);
  const notices = createNotices();
  const router = createRouter(window);
  const tabs = browserTabs(window);
  const outbox = createOutbox(browserShelf<Unsent>("recollect-outbox"), tabs);
  const archive = createArchive({
    client,
    shelf: browserShelf<Unarchived>("recollect-archive"),
    beacon: (url, text) => window.navigator.sendBeacon(url, text),
    rules: () => {
      const told = queries.getQueryData<ServerSettings>(SETTINGS_KEY)?.archive;
      return told ? { everyMessages: told.every_messages, everyMinutes: told.every_minutes } : USUAL_RULES;
    },
  });
  const conversation = createConversation({
    client,
    outbox,
    archive,
    isTemporary: router.store.getState().route.page === "temporary",
  });
  const removals = createRemovals((error) =>
    notices.tell(`Not deleted: ${asProblem(error).message}`, { kind: "problem" }),
  );
  const actions = createConversationActions({ client, queries, notices, removals, router, conversation, archive });
  return {
    client,
    queries,
    notices,
    router,
    tabs,
    outbox,
    archive,
    conversation,
    removals,
    actions,
    drafts: createDrafts(storage),
    theme: createTheme(window.document.documentElement, storage),
    singleKeys: createSingleKeys(storage),
    layout: createLayout(),
    memoryView: createMemoryView(),
    inspector: createInspector(),
  };
}

export type Composition = ReturnType<typeof compose>;

/** A browser may forbid storage by throwing as soon as it is looked at. */
function storageOf(window: Window): Storage | null {
  try {
    return window.localStorage;
  } catch {
    return null;
  }
}
