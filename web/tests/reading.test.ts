import { beforeEach, expect, test } from "vitest";
import { Client } from "../src/api/client";
import type { MemoryUsed, Message } from "../src/api/types";
import type { Archive } from "../src/state/archive";
import { createConversation } from "../src/state/conversation";
import { createOutbox } from "../src/state/outbox";
import { json, PlayedServer, problem, type Seen, stream } from "./server";

const TOLD: MemoryUsed = { id: "mem", memory_type: "fact", content: "Lives in Oslo", why: "pinned" };
const COUNT = 200;
const message = (seq: number): Message =>
  ({
    id: `m${seq}`,
    conversation_id: "c",
    seq,
    role: seq % 2 ? "user" : "assistant",
    content: `said ${seq}`,
    parent_id: seq > 1 ? `m${seq - 1}` : null,
    memories: seq % 2 ? [] : [TOLD],
  }) as unknown as Message;
const ALL = Array.from({ length: COUNT }, (_, at) => message(at + 1));
const plain = (one: Message) => ({ ...one, memories: [] });

let server: PlayedServer;

/** Answer like the server does: pages before and after a message of one branch. */
function pages(seen: Seen): Response {
  const asked = new URL(seen.url, "http://server").searchParams;
  const limit = Number(asked.get("limit"));
  const seqOf = (name: string) => Number(asked.get(name)?.slice(1));
  if (asked.get("after")) {
    const rest = ALL.filter((one) => one.seq > seqOf("after"));
    const items = rest.slice(0, limit);
    return json({ items, next: rest.length > limit ? items.at(-1)?.id : null });
  }
  const rest = asked.get("before") ? ALL.filter((one) => one.seq < seqOf("before")) : ALL;
  const items = rest.slice(-limit);
  return json({ items, next: rest.length > limit ? items[0]?.id : null });
}

function page() {
  const client = new Client(server.fetch);
  const outbox = createOutbox({ put: async () => undefined, remove: async () => undefined, all: async () => [] });
  const archive = { flush: async () => undefined, store: { getState: () => ({ waiting: [] }) } } as unknown as Archive;
  const conversation = createConversation({ client, outbox, archive, wait: async () => undefined });
  const state = () => conversation.store.getState();
  return { conversation, state, seqs: () => state().messages.map((one) => one.seq) };
}

beforeEach(() => {
  server = new PlayedServer()
    .on(/GET .*\/messages/, pages)
    .on(/GET .*\/c$/, () =>
      json({ id: "c", head_id: "m200", title: "T", messages: ALL.slice(-50).map(plain), next: "m151" }),
    );
});

test("replies that are read again tell which memories they were told", async () => {
  const { conversation, state } = page();
  await conversation.open("c");
  await expect.poll(() => state().memories.m200).toEqual([TOLD]);
  expect(state().memories.m199).toBeUndefined();
});

test("a message far above is shown with what stands around it, without gaps", async () => {
  const { conversation, state, seqs } = page();
  expect(await conversation.openAt("c", "m40", "said")).toBeNull();
  expect(state().target).toMatchObject({ messageId: "m40", quote: "said", isQuiet: false });
  expect([seqs()[0], seqs().at(-1), state().older, state().newer]).toEqual([1, 65, null, "m65"]);
  expect(seqs()).toEqual(seqs().map((_, at) => at + 1));
  expect(state().memories.m40).toEqual([TOLD]);
});

test("from there one reads on in both directions, up to both ends", async () => {
  const { conversation, state, seqs } = page();
  await conversation.openAt("c", "m120");
  while (state().older !== null) await conversation.loadOlder();
  while (state().newer !== null) await conversation.loadNewer();
  expect(seqs()).toEqual(ALL.map((one) => one.seq));
});

test("a message that is shown already is only gone to", async () => {
  const { conversation, state } = page();
  await conversation.open("c");
  await conversation.openAt("c", "m190");
  const first = state().target;
  await conversation.openAt("c", "m190");
  expect([state().newer, first?.messageId, state().target === first]).toEqual([null, "m190", false]);
  expect(server.seen.some((one) => one.url.includes("after="))).toBe(false);
});

test("whoever reads far above is left there when something changes, and comes back to the newest", async () => {
  const { conversation, state, seqs } = page();
  await conversation.openAt("c", "m40");
  await conversation.refresh();
  expect([seqs().at(-1), state().newer]).toEqual([65, "m65"]);
  await conversation.leaveTarget();
  expect([seqs().at(-1), state().newer, state().target?.messageId]).toEqual([200, null, null]);
});

test("what is said far above is said at the end", async () => {
  const { conversation, state, seqs } = page();
  await conversation.openAt("c", "m40");
  server.on(/POST \/api\/chat$/, () =>
    stream([
      ["start", { conversation_id: "c", session_id: "c", message_id: "r", memories_used: [] }],
      ["saved", { durability: "durable", messages: [] }],
      ["done", { status: "complete", usage: {} }],
    ]),
  );
  await conversation.send("Hi");
  await expect.poll(() => state().newer).toBeNull();
  expect(seqs().at(-1)).toBe(200);
});

test("a message on another branch makes that branch the one that is read, and tells the one before", async () => {
  const { conversation, state } = page();
  const branch = [message(1), { ...message(2), id: "x2" }, { ...message(3), id: "x3", parent_id: "x2" }] as Message[];
  let isThere = false;
  server
    .on(/GET .*after=x2/, () => json({ items: isThere ? branch.slice(2) : ALL.slice(2, 27), next: null }))
    .on(/GET .*before=x3/, json({ items: branch.slice(0, 2), next: null }))
    .on(/GET .*before=m3/, json({ items: ALL.slice(0, 2), next: null }))
    .on(/export/, json(branch.map(({ id, parent_id }) => ({ kind: "message", id, parent_id }))))
    .on(/PATCH/, () => {
      isThere = true;
      return json({});
    });
  expect(await conversation.openAt("c", "x2")).toBe("m200");
  expect(server.seen.find((one) => one.method === "PATCH")?.body).toEqual({ head_id: "x3" });
  expect(state().messages.map((one) => one.id)).toEqual(["m1", "x2", "x3"]);
});

test("a message that is no longer there is told of, and the newest are shown", async () => {
  const { conversation, state, seqs } = page();
  server.on(/after=gone/, problem(404, "message_not_found"));
  await conversation.openAt("c", "gone");
  expect([seqs().at(-1), state().target, state().isLoading]).toEqual([200, null, false]);
  expect(state().problem?.message).toMatch("no longer there");
});
