import { createStore } from "zustand/vanilla";
import type { Memory } from "../api/types";

/** A span of time by its name, or a range of days that is chosen. */
export type Span = "any" | "today" | "week" | "month" | "year" | "range";

export type Sort = "newest" | "oldest" | "importance";

export interface MemoryFilters {
  type: Memory["memory_type"] | null;
  category: string | null;
  origin: Memory["origin"] | null;
  trust: Memory["trust"];
  isPinned: boolean;
  span: Span;
  /** The first and the last day of a range, as `2026-05-17`; empty is open. */
  from: string;
  to: string;
  /** What was known at the end of this day, superseded memories too; empty is what is known now. */
  asOf: string;
  sort: Sort;
}

export const NO_FILTERS: MemoryFilters = {
  type: null,
  category: null,
  origin: null,
  trust: "active",
  isPinned: false,
  span: "any",
  from: "",
  to: "",
  asOf: "",
  sort: "newest",
};

/** How memories are looked for: by words that stand in them, or by a question. */
export type SearchMode = "words" | "ask";

export interface MemoryViewState {
  filters: MemoryFilters;
  isFiltering: boolean;
  mode: SearchMode;
  search: string;
  /** The question that is answered. */
  asked: string;
  /** Whether a question looks among messages, too. */
  withMessages: boolean;
}

/** How the memories are looked at; it outlives the page, so that going back shows what was shown. */
export function createMemoryView() {
  const store = createStore<MemoryViewState>(() => ({
    filters: NO_FILTERS,
    isFiltering: false,
    mode: "words",
    search: "",
    asked: "",
    withMessages: false,
  }));
  const { setState } = store;
  return {
    store,
    filter: (changes: Partial<MemoryFilters>) => setState(({ filters }) => ({ filters: { ...filters, ...changes } })),
    unfilter: () => setState(({ filters }) => ({ filters: { ...NO_FILTERS, sort: filters.sort } })),
    setFiltering: (isFiltering: boolean) => setState({ isFiltering }),
    setMode: (mode: SearchMode) => setState({ mode, asked: "" }),
    setSearch: (search: string) => setState(search ? { search } : { search, asked: "" }),
    ask: () => setState(({ search }) => ({ asked: search.trim() })),
    setWithMessages: (withMessages: boolean) => setState({ withMessages }),
  };
}

export type MemoryView = ReturnType<typeof createMemoryView>;
