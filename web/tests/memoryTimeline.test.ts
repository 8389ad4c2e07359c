import { expect, test } from "vitest";
import type { Memory } from "../src/api/types";
import { timelineOf } from "../src/state/memoryTimeline";
import { remembered } from "./memory";

const at = (hour: number) => `2026-05-17T${String(hour).padStart(2, "0")}:00:00Z`;
const version = (memory: Memory, hour: number) => ({ memory, until: at(hour) });

test("a memory that was never changed is told by where it comes from", () => {
  const memory = remembered({ quote: "I like tea", created_at: at(1) });
  expect(timelineOf(memory, { items: [], values: [memory] })).toEqual([
    {
      key: "learned k1",
      at: at(1),
      kind: "learned",
      says: "You said it",
      after: "Statement k1",
      quote: "I like tea",
      memoryId: "k1",
    },
  ]);
});

test("each change says what it changed, the newest first, and the beginning says what it said then", () => {
  const first = remembered({ content: "Likes tea", created_at: at(1) });
  const reworded = { ...first, content: "Likes green tea", version: 2 };
  const pinned = { ...reworded, is_pinned: true, importance: 0.9, version: 3 };
  const told = timelineOf(pinned, { items: [version(reworded, 3), version(first, 2)], values: [pinned] });
  expect(told.map((one) => [one.at, one.says])).toEqual([
    [at(3), "Pinned, importance is now high (90 %)"],
    [at(2), "You reworded it"],
    [at(1), "You said it"],
  ]);
  expect([told[1]?.before, told[1]?.after, told[2]?.after]).toEqual(["Likes tea", "Likes green tea", "Likes tea"]);
});

test("values that had the place of one another are one line, with the reason of each", () => {
  const bergen = remembered({
    id: "b",
    content: "Lives in Bergen",
    created_at: at(1),
    valid_from: at(1),
    valid_to: at(5),
    superseded_by: "o",
    version: 2,
  });
  const oslo = remembered({ id: "o", content: "Lives in Oslo", created_at: at(5), quote: "I moved to Oslo" });
  const values = [bergen, oslo];
  const told = timelineOf(oslo, { items: [], values });
  expect(told).toMatchObject([
    {
      kind: "replaced",
      says: "Superseded by what you said",
      before: "Lives in Bergen",
      after: "Lives in Oslo",
      quote: "I moved to Oslo",
      memoryId: "b",
    },
    { kind: "learned", after: "Lives in Bergen", memoryId: "b" },
  ]);
  const before = { ...bergen, valid_to: null, superseded_by: null, version: 1 };
  const ofOld = timelineOf(bergen, { items: [version(before, 5)], values });
  expect(ofOld.map((one) => one.kind)).toEqual(["replaced", "learned"]);
});

test("a decision is the reader's, and what is heard again is not", () => {
  const waits = remembered({ trust: "pending", origin: "import", created_at: at(1) });
  const approved = { ...waits, trust: "active" as const, content: "Better words", version: 2 };
  const again = { ...approved, importance: 0.6, source_message_ids: ["m1"], version: 3 };
  const told = timelineOf(again, { items: [version(approved, 3), version(waits, 2)], values: [again] });
  expect(told.map((one) => one.says)).toEqual([
    "Heard again, importance is now medium (60 %)",
    "You approved it",
    "Imported",
  ]);
  expect(told[1]?.after).toBe("Better words");
});

test("a memory that waits is told though no value has its place", () => {
  const rejected = remembered({ trust: "rejected", origin: "tool", created_at: at(1), version: 2 });
  const waited = { ...rejected, trust: "pending" as const, version: 1 };
  const told = timelineOf(rejected, { items: [version(waited, 2)], values: [rejected] });
  expect(told.map((one) => one.says)).toEqual(["You rejected it", "A tool said it"]);
});
