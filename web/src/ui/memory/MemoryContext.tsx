import { createContext, type ReactNode, useContext, useMemo } from "react";
import { useApp } from "../../app/AppContext";
import { createMemoryActions, type MemoryActions } from "../../app/memoryActions";
import { createMemorySelection, type MemorySelection } from "../../state/memorySelection";

interface Parts {
  actions: MemoryActions;
  selection: MemorySelection;
}

const Context = createContext<Parts | null>(null);

/** What the parts of the memory page share. */
export function MemoryProvider({ children }: { children: ReactNode }) {
  const { client, queries, notices } = useApp();
  const parts = useMemo(
    () => ({ actions: createMemoryActions({ client, queries, notices }), selection: createMemorySelection() }),
    [client, queries, notices],
  );
  return <Context.Provider value={parts}>{children}</Context.Provider>;
}

export function useMemories(): Parts {
  const parts = useContext(Context);
  if (!parts) throw new Error("useMemories needs a MemoryProvider around it.");
  return parts;
}
