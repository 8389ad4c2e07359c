import { expect, test } from "vitest";
import type { Memory, MemoryPage } from "../src/api/types";
import { activeFilters, listQuery, timesOf } from "../src/state/memoryFilters";
import { memoriesOf, memoryLines, withMemories, withNewFirst } from "../src/state/memoryLines";
import { createMemorySelection } from "../src/state/memorySelection";
import { createMemoryView, NO_FILTERS } from "../src/state/memoryView";
import { importanceWord, ORIGINS, TRUSTS, TYPES, validityOf } from "../src/state/memoryWords";
import { addressOf, type Route, routeOf } from "../src/state/route";
import { remembered } from "./memory";

const NOW = new Date(2026, 4, 17, 12, 30);
const page = (next: string | null, ...items: Memory[]): MemoryPage => ({ items, next, corrupt: [] });
const ids = (pages: MemoryPage[]) => pages.map((one) => one.items.map((item) => item.id).join(" "));
const named = (...names: string[]) => names.map((id) => remembered({ id }));

test("an address says which memory is open on which tab, and so does what is read from it", () => {
  const routes: [Route, string][] = [
    [{ page: "memories" }, "#/memories"],
    [{ page: "memories", memoryId: "a/b ?" }, "#/memories/a%2Fb%20%3F"],
    [{ page: "memories", tab: "review" }, "#/memories?tab=review"],
    [{ page: "memories", memoryId: "k", tab: "archived" }, "#/memories/k?tab=archived"],
    [{ page: "conversation", id: "c", messageId: "m", quote: "a & b?" }, "#/c/c/m/m?quote=a+%26+b%3F"],
  ];
  for (const [route, address] of routes) {
    expect(addressOf(route)).toBe(address);
    expect(routeOf(address)).toEqual(route);
  }
  expect(routeOf("#/memories?tab=nothing")).toEqual({ page: "memories" });
  expect(routeOf("#/memories/%E0%A4%A")).toEqual({ page: "start" });
});

test("days of a filter are the reader's, and the last one counts as a whole", () => {
  expect(timesOf({ ...NO_FILTERS, span: "week" }, NOW)).toEqual({
    since: new Date(2026, 4, 11).toISOString(),
    until: null,
  });
  expect(timesOf({ span: "range", from: "2026-05-01", to: "2026-05-31" }, NOW)).toEqual({
    since: new Date(2026, 4, 1).toISOString(),
    until: new Date(2026, 5, 1).toISOString(),
  });
  expect(timesOf({ span: "range", from: "", to: "" }, NOW)).toEqual({ since: null, until: null });
});

test("the tab decides what is listed before the filters do", () => {
  const filters = { ...NO_FILTERS, trust: "rejected" as const, isPinned: true, asOf: "2026-05-01" };
  expect(listQuery(filters, "tea", undefined, NOW)).toMatchObject({
    q: "tea",
    trust: "rejected",
    pinned: true,
    archived: false,
    as_of: new Date(2026, 4, 2).toISOString(),
  });
  expect(listQuery(filters, "", "review", NOW)).toMatchObject({ trust: "pending", pinned: null, as_of: null });
  expect(listQuery(filters, "", "archived", NOW)).toMatchObject({ archived: true, as_of: null });
});

test("the usual list asks for nothing that the server does by itself", () => {
  const asked = Object.entries(listQuery(NO_FILTERS, "", undefined, NOW)).filter(([, value]) => value !== null);
  expect(Object.fromEntries(asked)).toEqual({ trust: "active", archived: false });
});

test("each filter that is set is told by its name, and taking it away leaves the others", () => {
  const names = { type: TYPES, origin: ORIGINS, trust: TRUSTS };
  const view = createMemoryView();
  view.filter({ type: "preference", category: "food", span: "range", from: "2026-05-01", asOf: "2026-05-02" });
  const told = () => activeFilters(view.store.getState().filters, undefined, names);
  expect(told().map((one) => one.name)).toEqual([
    "Preference",
    "Category: food",
    "From 2026-05-01",
    "Known on 2026-05-02",
  ]);
  view.filter(told()[2]?.without ?? {});
  expect(told().map((one) => one.name)).toEqual(["Preference", "Category: food", "Known on 2026-05-02"]);
  expect(activeFilters(view.store.getState().filters, "review", names).map((one) => one.name)).not.toContain(
    "Known on 2026-05-02",
  );
  view.filter({ sort: "importance" });
  view.unfilter();
  expect(told()).toEqual([]);
  expect(view.store.getState().filters.sort).toBe("importance");
});

test("a question is answered once it is asked, and no longer when it is taken away", () => {
  const view = createMemoryView();
  view.setMode("ask");
  view.setSearch(" What do I drink? ");
  expect(view.store.getState().asked).toBe("");
  view.ask();
  expect(view.store.getState().asked).toBe("What do I drink?");
  view.setSearch("");
  expect(view.store.getState().asked).toBe("");
});

test("a range reaches from the last chosen one in either direction", () => {
  const listed = ["a", "b", "c", "d", "e"];
  const { store, ...selection } = createMemorySelection();
  const chosen = () => [...store.getState().ids].sort().join("");
  selection.reach("c", listed);
  expect(chosen()).toBe("c");
  selection.reach("e", listed);
  expect(chosen()).toBe("cde");
  selection.toggle("b");
  selection.reach("a", listed);
  expect(chosen()).toBe("abcde");
  selection.toggle("d");
  expect(chosen()).toBe("abce");
});

test("a range from something that is gone is the one that was chosen", () => {
  const { store, ...selection } = createMemorySelection();
  selection.toggle("gone");
  selection.keep(new Set(["a", "b"]));
  selection.reach("b", ["a", "b"]);
  expect([...store.getState().ids]).toEqual(["b"]);
  selection.all(["a", "b"]);
  expect(store.getState().ids.size).toBe(2);
  selection.clear();
  expect(store.getState().ids.size).toBe(0);
});

test("memories stand under their days unless they are sorted otherwise", () => {
  const items = [
    remembered({ id: "new", created_at: new Date(2026, 4, 17, 9).toISOString() }),
    remembered({ id: "newer", created_at: new Date(2026, 4, 17, 8).toISOString() }),
    remembered({ id: "old", created_at: new Date(2026, 4, 16, 9).toISOString() }),
  ];
  const told = (sort: "newest" | "importance") =>
    memoryLines(items, sort, NOW).map((line) => (line.kind === "group" ? line.name : line.item.id));
  expect(told("newest")).toEqual(["Today", "new", "newer", "Yesterday", "old"]);
  expect(told("importance")).toEqual(["new", "newer", "old"]);
});

test("a memory that moved between two readings is listed once", () => {
  const [a, b] = named("a", "b") as [Memory, Memory];
  expect(memoriesOf([page("1", a, b), page(null, b)]).map((one) => one.id)).toEqual(["a", "b"]);
});

test("a change touches only the page that it is on", () => {
  const pages = [page("1", ...named("a", "b")), page(null, ...named("c"))];
  const changed = withMemories(pages, (one) =>
    one.id === "a" ? null : one.id === "b" ? { ...one, content: "new" } : one,
  );
  expect(ids(changed)).toEqual(["b", "c"]);
  expect(changed[0]?.items[0]?.content).toBe("new");
  expect(changed[1]).toBe(pages[1]);
});

test("the beginning of a list is renewed without losing what is below, whether it grew or shrank", () => {
  const pages = [page("1", ...named("a", "b")), page("2", ...named("c", "d")), page("3", ...named("e", "f"))];
  const grown = withNewFirst(pages, [page("n1", ...named("x", "a")), page("n2", ...named("b", "c"))]);
  expect(memoriesOf(grown).map((one) => one.id)).toEqual(["x", "a", "b", "c", "d", "e", "f"]);
  expect(grown.at(-1)?.next).toBe("3");
  const shrunk = withNewFirst(pages, [page("n1", ...named("b", "c"))]);
  expect(memoriesOf(shrunk).map((one) => one.id)).toEqual(["b", "c", "d", "e", "f"]);
  expect(ids(withNewFirst(pages, [page(null, ...named("a"))]))).toEqual(["a"]);
});

test("words say how much a memory matters and how long it held", () => {
  expect([0.9, 0.5, 0.3, 0.1].map(importanceWord)).toEqual(["High", "Medium", "Low", "Very low"]);
  const day = (date: number) => new Date(2026, 4, date, 12).toISOString();
  expect(validityOf({ valid_from: day(1), valid_to: day(3) }, "en")).toBe("May 1, 2026 – May 3, 2026");
  expect(validityOf({ valid_from: day(1), valid_to: day(1) }, "en")).toBe("On May 1, 2026");
  expect(validityOf({ valid_from: day(1), valid_to: null }, "en")).toBe("Since May 1, 2026");
  expect(validityOf({ valid_from: null, valid_to: day(3) }, "en")).toBe("Until May 3, 2026");
  expect(validityOf({ valid_from: null, valid_to: null }, "en")).toBeNull();
});
