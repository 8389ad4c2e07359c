import { createStore } from "zustand/vanilla";

/** Something that is to get the focus, wherever it is. */
export type Wanted = "search" | "composer" | "rename";

export interface LayoutState {
  /** The sidebar of a small screen. */
  isDrawerOpen: boolean;
  isKeyboardMapOpen: boolean;
  /** The receipt of an erasure is awaited or shown; it stays, although the user's key may be erased too. */
  isReceiptOpen: boolean;
  /** Until whoever can serve it has done so. */
  wanted: Wanted | null;
}

/** What is open around the conversation. */
export function createLayout() {
  const store = createStore<LayoutState>(() => ({
    isDrawerOpen: false,
    isKeyboardMapOpen: false,
    isReceiptOpen: false,
    wanted: null,
  }));
  const { setState } = store;
  return {
    store,
    setDrawer: (isDrawerOpen: boolean) => setState({ isDrawerOpen }),
    setKeyboardMap: (isKeyboardMapOpen: boolean) => setState({ isKeyboardMapOpen }),
    setReceipt: (isReceiptOpen: boolean) => setState({ isReceiptOpen }),
    ask: (wanted: Wanted) => setState(wanted === "search" ? { wanted, isDrawerOpen: true } : { wanted }),
    served: () => setState({ wanted: null }),
  };
}

export type Layout = ReturnType<typeof createLayout>;
