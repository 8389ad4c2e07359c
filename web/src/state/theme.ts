import { createStore } from "zustand/vanilla";
import type { Storage } from "./drafts";

export type Theme = "system" | "light" | "dark";

const NAME = "recollect.theme";

const isTheme = (text: string | null | undefined): text is Theme =>
  text === "system" || text === "light" || text === "dark";

/** Light or dark: what the system wants unless the user wants otherwise. */
export function createTheme(root: { dataset: DOMStringMap }, storage: Storage | null) {
  let kept: string | null = null;
  try {
    kept = storage?.getItem(NAME) ?? null;
  } catch {
    // The browser keeps nothing: the system decides.
  }
  const store = createStore<{ theme: Theme }>(() => ({ theme: isTheme(kept) ? kept : "system" }));

  const apply = (theme: Theme) => {
    if (theme === "system") delete root.dataset.theme;
    else root.dataset.theme = theme;
  };
  apply(store.getState().theme);

  return {
    store,
    choose(theme: Theme): void {
      store.setState({ theme });
      apply(theme);
      try {
        storage?.setItem(NAME, theme);
      } catch {
        // It holds for this page only.
      }
    },
  };
}

export type ThemeStore = ReturnType<typeof createTheme>;
