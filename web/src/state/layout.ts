import { createStore } from "zustand/vanilla";

export interface LayoutState {
  /** The sidebar of a small screen. */
  isDrawerOpen: boolean;
  isKeyboardMapOpen: boolean;
  /** Counts up whenever the field is asked for, so that asking twice focuses twice. */
  searchAsked: number;
  composerAsked: number;
  renameAsked: number;
}

/** What is open around the conversation. */
export function createLayout() {
  const store = createStore<LayoutState>(() => ({
    isDrawerOpen: false,
    isKeyboardMapOpen: false,
    searchAsked: 0,
    composerAsked: 0,
    renameAsked: 0,
  }));
  const { setState } = store;
  return {
    store,
    setDrawer: (isDrawerOpen: boolean) => setState({ isDrawerOpen }),
    setKeyboardMap: (isKeyboardMapOpen: boolean) => setState({ isKeyboardMapOpen }),
    askForSearch: () => setState((state) => ({ searchAsked: state.searchAsked + 1, isDrawerOpen: true })),
    askForComposer: () => setState((state) => ({ composerAsked: state.composerAsked + 1 })),
    askForRename: () => setState((state) => ({ renameAsked: state.renameAsked + 1 })),
  };
}

export type Layout = ReturnType<typeof createLayout>;
