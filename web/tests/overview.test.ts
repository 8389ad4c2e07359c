import { expect, test } from "vitest";
import { Client } from "../src/api/client";
import type { MemoryDay } from "../src/api/types";
import { barsOf, nameOf, saidOf, spansOf, totalsOf } from "../src/state/overviewChart";
import { createRetryAll } from "../src/state/overviewRetry";
import { bytesInWords } from "../src/state/overviewWords";
import { json, lost, PlayedServer, problem } from "./server";

const day = (at: number, learned = 0, superseded = 0, forgotten = 0): MemoryDay => ({
  day: new Date(Date.UTC(2026, 0, 1 + at)).toISOString().slice(0, 10),
  learned,
  superseded,
  forgotten,
});

test("a season is told by days and a year by weeks that end today, and nothing is left out", () => {
  const season = Array.from({ length: 90 }, (_, at) => day(at, at));
  expect(spansOf(season).map((one) => one.from)).toEqual(season.map((one) => one.day));
  const year = Array.from({ length: 365 }, (_, at) => day(at, 1, 2, 3));
  const weeks = spansOf(year);
  expect(weeks.length).toBe(53);
  expect(weeks[0]).toMatchObject({ from: "2026-01-01", until: "2026-01-01", learned: 1 });
  expect(weeks.at(-1)).toMatchObject({ from: "2026-12-25", until: "2026-12-31", learned: 7, forgotten: 21 });
  expect(totalsOf(weeks)).toEqual(totalsOf(year));
  expect(spansOf([])).toEqual([]);
});

test("what came stands on the line and what went hangs below it, all on one scale", () => {
  const { bars, line } = barsOf(spansOf([day(0, 6, 1, 1), day(1), day(2, 3)]), 80);
  expect(line).toBe(60);
  expect(bars.map(({ series, y, height }) => [series, y, height])).toEqual([
    ["learned", 0, 60],
    ["superseded", 60, 10],
    ["forgotten", 70, 10],
    ["learned", 30, 30],
  ]);
  expect(bars.every(({ x, width }) => x >= 0 && x + width <= 3)).toBe(true);
});

test("a chart of nothing is a line at the bottom", () => {
  expect(barsOf(spansOf([day(0), day(1)]), 80)).toEqual({ bars: [], line: 80 });
  expect(barsOf([], 80)).toEqual({ bars: [], line: 80 });
});

test("a span is named by its days in UTC, wherever it is read", () => {
  expect(nameOf({ from: "2026-05-17", until: "2026-05-17" }, "en-GB")).toBe("17 May 2026");
  expect(nameOf({ from: "2026-05-11", until: "2026-05-17" }, "en-GB")).toMatch(/^11\W+17 May 2026$/);
  expect(saidOf({ learned: 2, superseded: 1, forgotten: 0 })).toBe("2 learned, 1 superseded, 0 forgotten");
});

test("bytes are told so that they can be read", () => {
  const told = [0, 1, 999, 1_000, 15_400, 123_456, 4_200_000, 7e12, 9e16].map((bytes) => bytesInWords(bytes, "en"));
  expect(told).toEqual(["0 bytes", "1 byte", "999 bytes", "1 kB", "15.4 kB", "123 kB", "4.2 MB", "7 TB", "90,000 TB"]);
});

const dead = (...ids: string[]) => ids.map((id) => ({ id }));

test("all dead letters are queued again, page by page, and one that somebody else queued is no problem", async () => {
  const server = new PlayedServer()
    .on(
      /GET \/api\/jobs\?state=dead/,
      json({ items: dead("a/b", "c"), next: "more" }),
      json({ items: dead("d"), next: null }),
    )
    .on(/POST .*\/retry/, json({}, 202))
    .on(/POST \/api\/jobs\/c\/retry/, problem(409, "conflict"));
  const retrying = createRetryAll(new Client(server.fetch));
  expect(await retrying.run()).toBe(2);
  expect(server.seen.map((one) => one.url)).toEqual([
    "/api/jobs?state=dead&limit=100",
    "/api/jobs/a%2Fb/retry",
    "/api/jobs/c/retry",
    "/api/jobs?state=dead&limit=100&cursor=more",
    "/api/jobs/d/retry",
  ]);
  expect(retrying.store.getState()).toEqual({ isRunning: false, done: 2, problem: null });
});

test("a server that goes away ends it, and what was queued is told", async () => {
  const server = new PlayedServer()
    .on(/GET/, json({ items: dead("a", "b"), next: null }))
    .on(/POST/, json({}, 202), lost());
  const retrying = createRetryAll(new Client(server.fetch));
  expect(await retrying.run()).toBe(1);
  expect(retrying.store.getState()).toMatchObject({ isRunning: false, problem: "The server cannot be reached." });
});
