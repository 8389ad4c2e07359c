import { expect, test } from "vitest";
import type { ConversationPage, ListedConversation } from "../src/api/types";
import { dayName, groupByDay } from "../src/state/dayGroups";
import { foundWords } from "../src/state/foundWords";
import { withChanged, withNewTop } from "../src/state/listPages";

const NOW = new Date(2026, 4, 17, 0, 30);
const ago = (days: number, hours = 0) => new Date(2026, 4, 17 - days, 0, 20 - hours * 60);
const listed = (id: string, at: Date, is_pinned = false) =>
  ({ id, is_pinned, last_activity_at: at.toISOString(), title: id }) as ListedConversation;
const page = (next: string | null, ...items: ListedConversation[]): ConversationPage => ({ items, next, corrupt: [] });
const ids = (pages: ConversationPage[]) => pages.map((one) => one.items.map((item) => item.id).join(" "));

test("days are the reader's, not spans of 24 hours", () => {
  expect(dayName(ago(0), NOW)).toBe("Today");
  expect(dayName(ago(0, 1), NOW)).toBe("Yesterday");
  expect(dayName(ago(6), NOW)).toBe("Last 7 days");
  expect(dayName(ago(7), NOW)).toBe("Last 30 days");
  expect(dayName(new Date(2025, 10, 3), NOW, "en")).toBe("November 2025");
});

test("a clock that is behind the server's shows no day that is to come", () => {
  expect(dayName(ago(-1), NOW)).toBe("Today");
});

test("pinned conversations come first and are in no day", () => {
  const lines = groupByDay(
    [listed("a", ago(0)), listed("b", ago(1)), listed("p", ago(40), true), listed("c", ago(1))],
    NOW,
  );
  expect(lines.map((line) => (line.kind === "group" ? line.name : line.item.id))).toEqual([
    "Pinned",
    "p",
    "Today",
    "a",
    "Yesterday",
    "b",
    "c",
  ]);
});

test("nothing is in no group", () => {
  expect(groupByDay([], NOW)).toEqual([]);
});

test("the words of a search are found wherever they stand, and signs are only signs", () => {
  const found = foundWords("The Boat (a small boat) leaves", "boat (a");
  expect(found.filter((one) => one.isFound).map((one) => one.text)).toEqual(["Boat", "(a", "boat"]);
  expect(found.map((one) => one.text).join("")).toBe("The Boat (a small boat) leaves");
  expect(foundWords("as it is", " ")).toEqual([{ text: "as it is", isFound: false, at: 0 }]);
});

test("a new top takes the place of the old one and the rest stays", () => {
  const before = [
    page("1", listed("d", ago(1)), listed("c", ago(2))),
    page("2", listed("b", ago(3)), listed("a", ago(4))),
  ];
  const top = page("new", listed("b", ago(0)), listed("d", ago(1)));
  const after = withNewTop(before, top);
  expect(ids(after)).toEqual(["b d", "c a"]);
  expect(after.at(-1)?.next).toBe("2");
});

test("what left the top is gone, and a list of one page is only its top", () => {
  const before = [page("1", listed("d", ago(1)), listed("c", ago(2))), page(null, listed("a", ago(4)))];
  expect(ids(withNewTop(before, page("n", listed("c", ago(2)))))).toEqual(["c", "a"]);
  expect(ids(withNewTop([page(null, listed("x", ago(1)))], page(null, listed("y", ago(0)))))).toEqual(["y"]);
});

test("one conversation is changed or taken away wherever it is listed", () => {
  const before = [page("1", listed("a", ago(0))), page(null, listed("b", ago(1)), listed("c", ago(2)))];
  const renamed = withChanged(before, "b", (one) => ({ ...one, title: "new" }));
  expect(renamed[1]?.items[0]?.title).toBe("new");
  expect(ids(withChanged(before, "b", () => null))).toEqual(["a", "c"]);
});
