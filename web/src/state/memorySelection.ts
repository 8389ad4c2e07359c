import { createStore } from "zustand/vanilla";

export interface Selection {
  ids: ReadonlySet<string>;
  /** Where a range begins: what was chosen last without one. */
  anchor: string | null;
}

const NOTHING: Selection = { ids: new Set(), anchor: null };

/** Which memories something is to be done with together. */
export function createMemorySelection() {
  const store = createStore<Selection>(() => NOTHING);
  const { setState, getState } = store;
  /** Choose one, or no longer. */
  const toggle = (id: string): void => {
    const ids = new Set(getState().ids);
    if (!ids.delete(id)) ids.add(id);
    setState({ ids, anchor: id });
  };
  return {
    store,
    toggle,

    /** Choose all from the last chosen one to this, as they are listed; without a last one, this. */
    reach(id: string, listed: readonly string[]): void {
      const { anchor, ids } = getState();
      const from = anchor === null ? -1 : listed.indexOf(anchor);
      const to = listed.indexOf(id);
      if (from < 0 || to < 0) toggle(id);
      else {
        const between = listed.slice(Math.min(from, to), Math.max(from, to) + 1);
        setState({ ids: new Set([...ids, ...between]), anchor: id });
      }
    },

    all(listed: readonly string[]): void {
      setState({ ids: new Set(listed), anchor: listed.at(-1) ?? null });
    },

    /** Let go of what is no longer there, such as what was deleted elsewhere. */
    keep(listed: ReadonlySet<string>): void {
      const { ids, anchor } = getState();
      const kept = [...ids].filter((id) => listed.has(id));
      if (kept.length !== ids.size) setState({ ids: new Set(kept), anchor });
    },

    clear: () => setState(NOTHING),
  };
}

export type MemorySelection = ReturnType<typeof createMemorySelection>;
