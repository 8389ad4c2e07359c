import type { Memory, MemoryPage } from "../api/types";
import { dayName, type Line } from "./dayGroups";
import type { Sort } from "./memoryView";

/** Put memories under the names of the days on which they were learned, where that is their order. */
export function memoryLines(items: Memory[], sort: Sort, now: Date, locale?: string): Line<Memory>[] {
  if (sort === "importance") return items.map((item) => ({ kind: "item", item }));
  const lines: Line<Memory>[] = [];
  let current: string | null = null;
  for (const item of items) {
    const name = dayName(new Date(item.created_at), now, locale);
    if (name !== current) lines.push({ kind: "group", name });
    current = name;
    lines.push({ kind: "item", item });
  }
  return lines;
}

/** Give each memory of the pages once: one that moved between two readings is in both. */
export function memoriesOf(pages: readonly MemoryPage[]): Memory[] {
  const seen = new Set<string>();
  return pages.flatMap((page) => page.items.filter((one) => !seen.has(one.id) && seen.add(one.id)));
}

/** Change memories wherever they are listed; null takes one away. */
export function withMemories(pages: MemoryPage[], change: (one: Memory) => Memory | null): MemoryPage[] {
  return pages.map((page) => {
    const items = page.items.flatMap((one) => change(one) ?? []);
    const isSame = items.length === page.items.length && items.every((one, at) => one === page.items[at]);
    return isSame ? page : { ...page, items };
  });
}

/**
 * Put newly read pages in the place of the beginning of what was read earlier.
 *
 * A list may be long, and reading all of it again after each change would cost as much; what is below stays as it was.
 */
export function withNewFirst(pages: MemoryPage[], first: MemoryPage[]): MemoryPage[] {
  const last = first.at(-1);
  if (!last || last.next === null || first.length >= pages.length) return first;
  const known = new Set(first.flatMap((page) => page.items.map((one) => one.id)));
  const before = pages.flatMap((page) => page.items);
  // Whatever order the list has: what stood after the last one that is still there is below.
  const end = before.findLastIndex((one) => known.has(one.id));
  const below = new Set(before.slice(end + 1).map((one) => one.id));
  const rest = pages
    .map((page) => ({ ...page, items: page.items.filter((one) => below.has(one.id)) }))
    .filter((page, at) => page.items.length > 0 || at === pages.length - 1);
  return [...first, ...rest];
}
