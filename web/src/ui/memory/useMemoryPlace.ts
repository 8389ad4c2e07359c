import { useCallback } from "react";
import { useApp, useStoreOf } from "../../app/AppContext";
import { addressOf, type MemoryTab, type Route } from "../../state/route";

type Place = Extract<Route, { page: "memories" }>;

/** Where on the memory page the address is, and how to go elsewhere on it. */
export function useMemoryPlace() {
  const { router } = useApp();
  const tab = useStoreOf(router.store, ({ route }) => (route.page === "memories" ? route.tab : undefined));
  const memoryId = useStoreOf(router.store, ({ route }) => (route.page === "memories" ? route.memoryId : undefined));
  const open = useCallback((id: string | null) => router.go(placeOf(tab, id)), [router, tab]);
  const show = useCallback((other: MemoryTab | undefined) => router.go(placeOf(other, null)), [router]);
  const addressFor = useCallback((id: string) => addressOf(placeOf(tab, id)), [tab]);
  return { tab, memoryId, open, show, addressFor };
}

function placeOf(tab: MemoryTab | undefined, memoryId: string | null): Place {
  return { page: "memories", ...(memoryId && { memoryId }), ...(tab && { tab }) };
}

/** Frames in which a row that is edited or read again comes back. */
const MOST_FRAMES = 120;

/** Give the focus back to the row of a memory, once it is there. */
export function focusRow(id: string, frames = MOST_FRAMES): void {
  requestAnimationFrame(() => {
    const row = document.querySelector<HTMLElement>(`a[data-memory="${CSS.escape(id)}"]`);
    if (row) row.focus();
    else if (frames > 0) focusRow(id, frames - 1);
  });
}
