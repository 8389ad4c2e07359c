import { beforeEach, expect, test } from "vitest";
import { Client } from "../src/api/client";
import { BEACON_BYTES, createArchive, REQUEST_BYTES, type Unarchived } from "../src/state/archive";
import type { Shelf } from "../src/state/shelf";
import { json, lost, PlayedServer, problem } from "./server";

/** A shelf that gives what it holds by name, as the browser's does. */
function namedShelf(): Shelf<Unarchived> & { things: Map<string, Unarchived> } {
  const things = new Map<string, Unarchived>();
  return {
    things,
    put: async (name, thing) => void things.set(name, thing),
    remove: async (name) => void things.delete(name),
    all: async () => [...things].sort(([one], [other]) => (one < other ? -1 : 1)),
  };
}

const said = (id: string, conversationId = "c", content = id): Unarchived => ({
  conversationId,
  message: { id, role: "user", content, created_at: "2026-01-01T00:00:00Z" },
});

let server: PlayedServer;
let shelf: ReturnType<typeof namedShelf>;
let timers: { work: () => void; after: number }[];
let beacons: string[][];

function page(everyMessages = 100) {
  return createArchive({
    client: new Client(server.fetch),
    shelf,
    beacon: (_, text) => beacons.push(idsOf(JSON.parse(text))) > 0,
    rules: () => ({ everyMessages, everyMinutes: 5 }),
    later: (work, after) => {
      const timer = { work, after };
      timers.push(timer);
      return () => void timers.splice(timers.indexOf(timer), 1);
    },
  });
}

type Batch = { session_id: string; messages_batch: { id: string }[] };
const idsOf = (batch: Batch) => batch.messages_batch.map((one) => one.id);
const archived = () =>
  server.seen.filter((one) => one.url.includes("archive_messages")).map((one) => idsOf(one.body as Batch));
const fire = async (archive: ReturnType<typeof page>) => {
  timers.shift()?.work();
  await archive.flush();
};

beforeEach(() => {
  server = new PlayedServer()
    .on(/archive_messages/, json({}))
    .on(/archive_token/, json({ archive_token: "t", expires_at: "2999-01-01T00:00:00Z", session_id: "c" }));
  shelf = namedShelf();
  timers = [];
  beacons = [];
});

test("a page that comes after another archives in the order in which things were said", async () => {
  const first = page();
  for (const id of ["z", "a", "m", "b"]) await first.add([said(id)]);
  const second = page();
  await second.load();
  await second.add([said("0")]);
  await second.flush();
  expect(archived()).toEqual([["z", "a", "m", "b"], ["0"]]);
  expect(shelf.things.size).toBe(0);
});

test("time is up again and again, not only once", async () => {
  const archive = page();
  for (const id of ["one", "two"]) {
    await archive.add([said(id)]);
    expect(timers.map((timer) => timer.after)).toEqual([5 * 60_000]);
    await fire(archive);
    expect(timers).toEqual([]);
  }
  expect(archived()).toEqual([["one"], ["two"]]);
});

test("a failure is tried again later and later, and told until it is over", async () => {
  server.on(/archive_messages/, lost(), lost(), json({}));
  const archive = page();
  await archive.add([said("one")]);
  await archive.flush();
  expect([archive.store.getState().failure, timers[0]?.after]).toEqual(["The server cannot be reached.", 1_000]);
  timers.shift()?.work();
  await archive.flush("none");
  expect([archive.store.getState().failure, timers[0]?.after]).toEqual(["The server cannot be reached.", 2_000]);
  await fire(archive);
  expect([archive.store.getState(), timers]).toEqual([{ waiting: [], failure: null }, []]);
});

test("a conversation that is refused does not hold up the others", async () => {
  server.on(/archive_messages/, (seen) =>
    (seen.body as Batch).session_id === "bad" ? problem(422, "invalid_message") : json({}),
  );
  const archive = page();
  await archive.add([said("x", "bad"), said("y", "good")]);
  await archive.flush();
  expect(archive.store.getState().waiting.map((one) => one.message.id)).toEqual(["x"]);
  expect(archive.store.getState().failure).toBe("invalid_message.");
});

test("what is too much for one request is sent in several, one after the other", async () => {
  const archive = page();
  const long = "x".repeat(REQUEST_BYTES * 0.4);
  await archive.add(["1", "2", "3", "4", "5"].map((id) => said(id, "c", long)));
  await archive.flush();
  expect(archived()).toEqual([["1", "2"], ["3", "4"], ["5"]]);
});

test("beacons overtake each other, so a page that is left sends one per conversation, with what was said first", async () => {
  const archive = page();
  const long = "x".repeat(BEACON_BYTES * 0.4);
  await archive.add([said("1", "c", long), said("2", "d"), said("3", "c", long), said("4", "c")]);
  expect(archive.leave()).toBe(4);
  expect(beacons).toEqual([["1", "3", "4"], ["2"]]);
  await archive.add([said("5", "c", long)]);
  beacons = [];
  expect(archive.leave()).toBe(4);
  expect(beacons).toEqual([["1", "3", "4"], ["2"]]);
});

test("a message that is too long for a beacon keeps those after it waiting", async () => {
  const archive = page();
  await archive.add([said("long", "c", "x".repeat(BEACON_BYTES)), said("after")]);
  expect([archive.leave(), beacons, shelf.things.size]).toEqual([0, [], 2]);
});

test("without a token the session vouches for what is sent last", async () => {
  server.on(/archive_token/, lost());
  const archive = page();
  await archive.add([said("1")]);
  expect([archive.leave(), beacons, archived()]).toEqual([1, [], [["1"]]]);
});

test("what belongs to an erased conversation is given up", async () => {
  const archive = page();
  await archive.add([said("1"), said("2", "d")]);
  await archive.forget("c");
  await archive.flush();
  expect([archived(), shelf.things.size]).toEqual([[["2"]], 0]);
});
