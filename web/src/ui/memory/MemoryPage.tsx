import * as Tabs from "@radix-ui/react-tabs";
import { lazy, Suspense, useMemo } from "react";
import { useApp, useStoreOf } from "../../app/AppContext";
import { listQuery } from "../../state/memoryFilters";
import type { MemoryTab } from "../../state/route";
import { Skeleton } from "../parts/Skeleton";
import { Answers } from "./Answers";
import { DetailPane } from "./DetailPane";
import { MemoryProvider } from "./MemoryContext";
import { MemoryHeader } from "./MemoryHeader";
import { MemoryList } from "./MemoryList";
import { MemoryTabs } from "./MemoryTabs";
import { MemoryToolbar } from "./MemoryToolbar";
import { useMemoryPlace } from "./useMemoryPlace";
import { useSettled } from "./useSettled";

const NotesEditor = lazy(() => import("../notes/NotesEditor"));

/** What is remembered, to look through, to correct and to decide about. */
export default function MemoryPage() {
  return (
    <MemoryProvider>
      <Page />
    </MemoryProvider>
  );
}

function Page() {
  const { tab, show } = useMemoryPlace();
  return (
    <Tabs.Root
      value={tab ?? "all"}
      onValueChange={(chosen) => show(chosen === "all" ? undefined : (chosen as MemoryTab))}
      className="flex min-h-0 flex-1"
    >
      <div className="flex min-w-0 flex-1 flex-col">
        <MemoryHeader />
        <MemoryTabs />
        <Tabs.Content value={tab ?? "all"} tabIndex={-1} className="flex min-h-0 flex-1 flex-col outline-none">
          {tab === "notes" ? (
            <Suspense fallback={<Skeleton className="m-6 h-24" />}>
              <div className="min-h-0 flex-1 overflow-y-auto">
                <div className="mx-auto w-full max-w-3xl px-4 py-6">
                  <NotesEditor />
                </div>
              </div>
            </Suspense>
          ) : (
            <Listed key={tab ?? "all"} />
          )}
        </Tabs.Content>
      </div>
      {tab !== "notes" && <DetailPane />}
    </Tabs.Root>
  );
}

function Listed() {
  const { memoryView } = useApp();
  const { mode, search, asked, filters } = useStoreOf(memoryView.store, (state) => state);
  const { tab } = useMemoryPlace();
  const words = useSettled(mode === "words" ? search.trim() : "");
  const query = useMemo(() => listQuery(filters, words, tab, new Date()), [filters, words, tab]);
  return (
    <>
      <MemoryToolbar />
      {mode === "ask" ? <Answers question={asked} query={query} /> : <MemoryList query={query} />}
    </>
  );
}
