import type { Memory } from "../api/types";
import type { MemoryFilters, Sort, Span } from "./memoryView";
import type { MemoryTab } from "./route";

export const SPANS: Record<Span, string> = {
  any: "Any time",
  today: "Today",
  week: "Last 7 days",
  month: "Last 30 days",
  year: "Last year",
  range: "Range…",
};

const DAYS: Partial<Record<Span, number>> = { today: 0, week: 6, month: 29, year: 364 };

/** What the list is asked for. */
export interface ListQuery {
  q: string | null;
  type: string | null;
  category: string | null;
  origin: string | null;
  trust: Memory["trust"];
  pinned: boolean | null;
  archived: boolean;
  as_of: string | null;
  since: string | null;
  until: string | null;
  sort: Sort | null;
}

/** Say what a list shows: the tab decides first, the filters narrow it. */
export function listQuery(filters: MemoryFilters, words: string, tab: MemoryTab | undefined, now: Date): ListQuery {
  return {
    q: words || null,
    type: filters.type,
    category: filters.category,
    origin: filters.origin,
    trust: tab === "review" ? "pending" : filters.trust,
    pinned: filters.isPinned && tab !== "review" ? true : null,
    archived: tab === "archived",
    as_of: filters.asOf && !tab ? dayAfter(filters.asOf) : null,
    ...timesOf(filters, now),
    // The usual order needs no word.
    sort: filters.sort === "newest" ? null : filters.sort,
  };
}

/** Say from when until when: days are the reader's, and the last day counts as a whole. */
export function timesOf(
  { span, from, to }: Pick<MemoryFilters, "span" | "from" | "to">,
  now: Date,
): { since: string | null; until: string | null } {
  if (span === "range") return { since: from ? startOf(from) : null, until: to ? dayAfter(to) : null };
  const days = DAYS[span];
  if (days === undefined) return { since: null, until: null };
  const since = new Date(now.getFullYear(), now.getMonth(), now.getDate() - days);
  return { since: since.toISOString(), until: null };
}

/** A filter that is set: what it says, and what is left without it. */
export interface ActiveFilter {
  name: string;
  without: Partial<MemoryFilters>;
}

export interface Names {
  type: Record<Memory["memory_type"], string>;
  origin: Record<Memory["origin"], string>;
  trust: Record<Memory["trust"], string>;
}

/** List the filters that are set, as they are called. */
export function activeFilters(filters: MemoryFilters, tab: MemoryTab | undefined, names: Names): ActiveFilter[] {
  const set: ActiveFilter[] = [];
  if (filters.type) set.push({ name: names.type[filters.type], without: { type: null } });
  if (filters.category) set.push({ name: `Category: ${filters.category}`, without: { category: null } });
  if (filters.origin) set.push({ name: names.origin[filters.origin], without: { origin: null } });
  if (filters.trust !== "active" && tab !== "review")
    set.push({ name: names.trust[filters.trust], without: { trust: "active" } });
  if (filters.isPinned && tab !== "review") set.push({ name: "Pinned", without: { isPinned: false } });
  const time = spanName(filters);
  if (time) set.push({ name: time, without: { span: "any", from: "", to: "" } });
  if (filters.asOf && !tab) set.push({ name: `Known on ${filters.asOf}`, without: { asOf: "" } });
  return set;
}

function spanName({ span, from, to }: MemoryFilters): string | null {
  if (span === "any") return null;
  if (span !== "range") return SPANS[span];
  if (from && to) return `${from} to ${to}`;
  if (from) return `From ${from}`;
  return to ? `Until ${to}` : null;
}

function startOf(day: string): string {
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  return new Date(year, month - 1, date).toISOString();
}

function dayAfter(day: string): string {
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  return new Date(year, month - 1, date + 1).toISOString();
}
