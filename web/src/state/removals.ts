import { createStore } from "zustand/vanilla";

/** How long a deletion can be taken back. */
export const UNDO_FOR = 8_000;

interface Waiting {
  erase: () => Promise<void>;
  timer: ReturnType<typeof setTimeout>;
}

/**
 * Delete with a chance to take it back.
 *
 * The server erases for good, so nothing is asked of it until the time to undo is over; what waits is hidden meanwhile.
 */
export function createRemovals(onFailure: (error: unknown) => void) {
  const store = createStore<{ hidden: ReadonlySet<string> }>(() => ({ hidden: new Set() }));
  const waiting = new Map<string, Waiting>();

  const setHidden = (id: string, isHidden: boolean) =>
    store.setState(({ hidden }) => {
      const next = new Set(hidden);
      if (isHidden) next.add(id);
      else next.delete(id);
      return { hidden: next };
    });

  async function carryOut(id: string): Promise<void> {
    const due = waiting.get(id);
    if (!due) return;
    clearTimeout(due.timer);
    waiting.delete(id);
    try {
      await due.erase();
    } catch (error) {
      setHidden(id, false);
      onFailure(error);
    }
  }

  return {
    store,

    /** Hide it now and erase it once it can no longer be taken back. */
    begin(id: string, erase: () => Promise<void>): void {
      if (waiting.has(id)) return;
      waiting.set(id, { erase, timer: setTimeout(() => void carryOut(id), UNDO_FOR) });
      setHidden(id, true);
    },

    /** Take it back. */
    undo(id: string): void {
      const due = waiting.get(id);
      if (!due) return;
      clearTimeout(due.timer);
      waiting.delete(id);
      setHidden(id, false);
    },

    /** Erase what waits without waiting longer, because the page is left. */
    async finish(): Promise<void> {
      await Promise.all([...waiting.keys()].map(carryOut));
    },
  };
}

export type Removals = ReturnType<typeof createRemovals>;
