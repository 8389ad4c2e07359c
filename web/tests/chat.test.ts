import { expect, test } from "vitest";
import { chat } from "../src/api/chat";
import { Client } from "../src/api/client";
import { readEvents } from "../src/api/events";
import { Problem } from "../src/api/problem";
import type { ChatEvent } from "../src/api/types";
import { lost, PlayedServer, problem, stream } from "./server";

const START = { conversation_id: "c", session_id: "c", message_id: "r1", memories_used: [] };
const SAVED = { durability: "durable", messages: [{ id: "m", seq: 1 }] };
const DONE = { status: "complete", usage: { input_tokens: 1, output_tokens: 2 } };
const BODY = { conversation_id: "c", new_messages: [] };
const wait = async () => undefined;

async function heard(server: PlayedServer): Promise<ChatEvent[]> {
  const events: ChatEvent[] = [];
  for await (const event of chat(new Client(server.fetch), BODY, "k", { wait })) events.push(event);
  return events;
}

test("events are read whole however the bytes are cut", async () => {
  for (const bytes of [1, 2, 3, 7, 1000]) {
    const found = [];
    const { body } = stream(
      [
        ["delta", { text: "héllo — 日本" }],
        ["done", DONE],
      ],
      { bytes },
    );
    for await (const event of readEvents(body as ReadableStream<Uint8Array>)) found.push(event);
    expect(found.map((one) => [one.id, one.event])).toEqual([
      ["1", "delta"],
      ["2", "done"],
    ]);
    expect(JSON.parse(found[0]?.data ?? "").text).toBe("héllo — 日本");
  }
});

test("comments and other line breaks are no events", async () => {
  const { body } = new Response(": here\r\n\r\nevent: a\r\ndata: 1\r\ndata: 2\r\n\r\n: still\n\n");
  const found = [];
  for await (const event of readEvents(body as ReadableStream<Uint8Array>)) found.push(event);
  expect(found).toEqual([{ id: null, event: "a", data: "1\n2" }]);
});

test("a turn that is cut is followed from where it broke", async () => {
  const server = new PlayedServer()
    .on(
      /POST \/api\/chat$/,
      stream(
        [
          ["start", START],
          ["delta", { text: "one " }],
        ],
        { cut: true },
      ),
    )
    .on(
      /GET \/api\/chat\/r1\/stream/,
      lost(),
      stream(
        [
          ["delta", { text: "two" }],
          ["saved", SAVED],
          ["done", DONE],
        ],
        { from: 3 },
      ),
    );
  const events = await heard(server);
  expect(events.map((one) => one.event)).toEqual(["start", "delta", "delta", "saved", "done"]);
  expect(server.seen.map((one) => one.headers["Last-Event-ID"])).toEqual([undefined, "2", "2"]);
});

test("a turn that never began is asked again with the same key", async () => {
  const server = new PlayedServer().on(
    /POST \/api\/chat$/,
    lost(),
    problem(503, "storage_unavailable"),
    problem(409, "request_in_flight"),
    stream([
      ["start", START],
      ["saved", SAVED],
      ["done", DONE],
    ]),
  );
  expect((await heard(server)).at(-1)?.event).toBe("done");
  expect(new Set(server.seen.map((one) => one.headers["Idempotency-Key"]))).toEqual(new Set(["k"]));
});

test("a server that was started again is asked again with the same key", async () => {
  const server = new PlayedServer()
    .on(
      /POST \/api\/chat$/,
      stream(
        [
          ["start", START],
          ["delta", { text: "lost" }],
        ],
        { cut: true },
      ),
      stream([
        ["start", { ...START, message_id: "r2" }],
        ["delta", { text: "anew" }],
        ["saved", SAVED],
        ["done", DONE],
      ]),
    )
    .on(/GET \/api\/chat\/r1\/stream/, problem(404, "message_not_found"));
  const events = await heard(server);
  expect(events.filter((one) => one.event === "start").length).toBe(2);
  expect(server.seen.map((one) => one.method)).toEqual(["POST", "GET", "POST"]);
});

test("what the server refuses is not tried again", async () => {
  const server = new PlayedServer().on(/POST/, problem(422, "invalid_input"));
  const error = await heard(server).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(Problem);
  expect([(error as Problem).status, (error as Problem).code, (error as Problem).requestId]).toEqual([
    422,
    "invalid_input",
    "r-1",
  ]);
  expect(server.seen.length).toBe(1);
});

test("a server that stays away is given up after some attempts", async () => {
  const server = new PlayedServer().on(/POST/, lost());
  const error = await heard(server).catch((caught: unknown) => caught);
  expect([(error as Problem).code, server.seen.length]).toEqual(["away", 6]);
});

test("a turn that fails after it began says why, and is not followed again", async () => {
  const server = new PlayedServer().on(
    /POST/,
    stream([
      ["start", START],
      ["error", { code: "storage_unavailable", detail: "The disk is full." }],
    ]),
  );
  const error = await heard(server).catch((caught: unknown) => caught);
  expect([(error as Problem).code, (error as Problem).message, server.seen.length]).toEqual([
    "storage_unavailable",
    "The disk is full.",
    1,
  ]);
});

test("a reply that an earlier page saw begin is followed from its beginning", async () => {
  const server = new PlayedServer().on(
    /GET \/api\/chat\/r1\/stream/,
    stream([
      ["start", START],
      ["delta", { text: "all" }],
      ["saved", SAVED],
      ["done", DONE],
    ]),
  );
  const events: ChatEvent[] = [];
  for await (const event of chat(new Client(server.fetch), BODY, "k", { wait, follow: "r1" })) events.push(event);
  expect([
    events.at(-1)?.event,
    server.seen.map((one) => one.method),
    server.seen[0]?.headers["Last-Event-ID"],
  ]).toEqual(["done", ["GET"], "0"]);
});

test("a stream that says nothing for too long is given up", async () => {
  const body = new ReadableStream<Uint8Array>({ pull: () => new Promise(() => undefined) });
  const error = await readEvents(body, 5)
    .next()
    .catch((caught: unknown) => caught);
  expect([(error as Problem).code, (error as Problem).isPassing]).toEqual(["silent", true]);
});
