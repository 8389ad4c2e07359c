import { createContext, useContext } from "react";
import { useStore } from "zustand/react";
import type { StoreApi } from "zustand/vanilla";
import type { Composition } from "./compose";

const Context = createContext<Composition | null>(null);

export const AppProvider = Context.Provider;

/** The parts of the app. */
export function useApp(): Composition {
  const app = useContext(Context);
  if (!app) throw new Error("useApp needs an AppProvider around it.");
  return app;
}

/** Show a part of a store; the component renders again only when that part changes. */
export function useStoreOf<S, T>(
  store: Pick<StoreApi<S>, "getState" | "getInitialState" | "subscribe">,
  part: (state: S) => T,
): T {
  return useStore(store, part);
}
