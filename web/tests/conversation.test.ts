import { beforeEach, expect, test } from "vitest";
import { Client } from "../src/api/client";
import type { Message } from "../src/api/types";
import { createArchive, type Unarchived } from "../src/state/archive";
import { createConversation } from "../src/state/conversation";
import { createOutbox, type Unsent } from "../src/state/outbox";
import type { Shelf } from "../src/state/shelf";
import { json, lost, PlayedServer, problem, stream } from "./server";

function memoryShelf<T>(): Shelf<T> & { things: Map<string, T> } {
  const things = new Map<string, T>();
  return {
    things,
    put: async (name, thing) => void things.set(name, thing),
    remove: async (name) => void things.delete(name),
    all: async () => [...things.entries()],
  };
}

const wait = async () => undefined;
const usage = { input_tokens: 0, output_tokens: 0 };
const memory = { id: "mem", memory_type: "fact", content: "Lives in Oslo", why: "pinned" };
const message = (seq: number, id = `m${seq}`): Message =>
  ({
    id,
    conversation_id: "c",
    seq,
    role: seq % 2 ? "user" : "assistant",
    content: id,
    parent_id: seq > 1 ? `m${seq - 1}` : null,
  }) as Message;
const opened = (messages: Message[], next: string | null = null) => json({ id: "c", title: "T", messages, next });
const turn = (durability = "durable", reply = "reply"): [string, unknown][] => [
  ["start", { conversation_id: "c", session_id: "c", message_id: reply, memories_used: [memory] }],
  ["delta", { text: "Hel" }],
  ["delta", { text: "lo" }],
  ["saved", { durability, messages: [] }],
  ["done", { status: "complete", usage }],
];

let server: PlayedServer;
let shelf: ReturnType<typeof memoryShelf<Unsent>>;
let archiveShelf: ReturnType<typeof memoryShelf<Unarchived>>;
let beacons: string[];
let ids: number;

function page() {
  const client = new Client(server.fetch);
  const outbox = createOutbox(shelf);
  const archive = createArchive({
    client,
    shelf: archiveShelf,
    beacon: (_, text) => beacons.push(text) > 0,
    rules: () => ({ everyMessages: 4, everyMinutes: 5 }),
    later: () => () => undefined,
  });
  const conversation = createConversation({ client, outbox, archive, wait, newId: () => `id${++ids}` });
  return { outbox, archive, conversation, state: () => conversation.store.getState() };
}

beforeEach(() => {
  server = new PlayedServer();
  shelf = memoryShelf();
  archiveShelf = memoryShelf();
  beacons = [];
  ids = 0;
});

test("what is said is in the outbox before it is sent and until it is saved", async () => {
  const { conversation, state } = page();
  server.on(/POST \/api\/chat$/, (seen) => {
    expect([...shelf.things.values()].map((one) => one.key)).toEqual([seen.headers["Idempotency-Key"]]);
    return stream(turn());
  });
  server.on(/GET \/api\/conversations\//, opened([message(1), message(2)]));
  await conversation.send("Hi");
  expect(shelf.things.size).toBe(0);
  expect([state().messages.length, state().draft, state().pending]).toEqual([2, null, null]);
  expect(state().memories.reply).toEqual([memory]);
});

test("what could not be sent is sent by the next page, with the same key and the same words", async () => {
  const first = page();
  server.on(/POST \/api\/chat$/, lost());
  await first.conversation.send("Remember the blue door");
  expect([first.state().pending?.text, first.state().problem?.code]).toEqual(["Remember the blue door", "away"]);
  const [unsent] = [...shelf.things.values()];

  const second = page();
  server
    .on(/POST \/api\/chat$/, stream(turn()))
    .on(/GET/, json({ id: unsent?.conversationId, messages: [], next: null }));
  await second.outbox.load();
  await second.conversation.open(unsent?.conversationId ?? "");
  const sent = server.seen.filter((one) => one.method === "POST");
  expect(new Set(sent.map((one) => one.headers["Idempotency-Key"])).size).toBe(1);
  expect(sent.at(-1)?.body).toEqual(sent[0]?.body);
  expect(shelf.things.size).toBe(0);
});

test("a refusal is shown and not kept for ever", async () => {
  const { conversation, state } = page();
  server.on(/POST \/api\/chat$/, problem(422, "invalid_input"));
  await conversation.send("x");
  expect([shelf.things.size, state().problem?.code, state().draft]).toEqual([0, "invalid_input", null]);
});

test("a browser that keeps nothing is told of", async () => {
  shelf.put = () => Promise.reject(new Error("quota"));
  const { conversation, outbox } = page();
  server.on(/POST \/api\/chat$/, () => {
    expect(outbox.store.getState().isKept).toBe(false);
    return stream(turn());
  });
  server.on(/GET/, opened([]));
  await conversation.send("Hi");
});

test("what comes for a conversation that was left does not show in another", async () => {
  const { conversation, state } = page();
  server.on(/GET \/api\/conversations\/c2/, json({ id: "c2", title: null, messages: [message(9)], next: null }));
  server.on(/POST \/api\/chat$/, async () => {
    await conversation.open("c2");
    return stream(turn());
  });
  await conversation.send("Hi");
  expect([state().id, state().draft, state().messages.map((one) => one.seq)]).toEqual(["c2", null, [9]]);
});

test("what is said before the current conversation is read begins a new one", async () => {
  const { conversation, state } = page();
  let answer: (response: Response) => void = () => undefined;
  server.on(/GET .*current/, () => new Promise<Response>((resolve) => (answer = resolve)));
  server.on(/GET .*id1/, json({ id: "id1", title: "New", messages: [message(1), message(2)], next: null }));
  server.on(/POST/, stream(turn()));
  const reading = conversation.openCurrent();
  await conversation.send("Hi");
  answer(opened([message(1)]));
  await reading;
  expect(state()).toMatchObject({ id: "id1", draft: null, pending: null, conversation: { id: "id1" } });
});

test("older pages come before what is shown", async () => {
  const { conversation, state } = page();
  server.on(/GET \/api\/conversations\/c$/, opened([message(3), message(4)], "m3"));
  server.on(/GET \/api\/conversations\/c\/messages/, json({ items: [message(1), message(2)], next: null }));
  await conversation.open("c");
  await conversation.loadOlder();
  await conversation.loadOlder();
  expect([state().messages.map((one) => one.seq), state().older]).toEqual([[1, 2, 3, 4], null]);
  expect(server.seen.filter((one) => one.url.includes("before=")).length).toBe(1);
});

test("an edit answers the parent of the message that it replaces", async () => {
  const { conversation } = page();
  server.on(/POST \/api\/chat$/, stream(turn())).on(/GET/, opened([message(1)]));
  await conversation.open("c");
  await conversation.edit(message(1), "Other words");
  const body = server.seen.find((one) => one.method === "POST")?.body as { parent_id: unknown };
  expect(body.parent_id).toBeNull();
});

test("a temporary chat sends what was said along and keeps nothing", async () => {
  const { conversation, state } = page();
  conversation.begin(true);
  server.on(/POST \/api\/chat$/, () => stream(turn("volatile", `r${ids}`)));
  await conversation.send("one");
  await conversation.send("two");
  const bodies = server.seen.map((one) => one.body as { temporary: boolean; new_messages: { content: string }[] });
  expect(bodies.map((one) => one.temporary)).toEqual([true, true]);
  expect(bodies[1]?.new_messages.map((one) => one.content)).toEqual(["one", "Hello", "two"]);
  expect([shelf.things.size, archiveShelf.things.size, state().messages.length]).toEqual([0, 0, 4]);
});

test("a conversation in which nothing was said is begun once, so that what is being written stays", async () => {
  const { conversation, state } = page();
  const { id } = state();
  conversation.begin();
  expect(state().id).toBe(id);
  conversation.begin(true);
  expect([state().id === id, state().isTemporary]).toEqual([false, true]);
  server.on(/POST \/api\/chat$/, stream(turn())).on(/GET/, opened([message(1)]));
  conversation.begin();
  await conversation.send("Hi");
  const said = state().id;
  conversation.begin();
  expect(state().id === said).toBe(false);
});

test("messages that the client keeps are archived after so many, when left, and by the page that leaves", async () => {
  const { conversation, archive } = page();
  const batches: number[] = [];
  server.on(/POST \/api\/chat$/, () => stream(turn("client", `r${ids}`)));
  server.on(/archive_token/, json({ archive_token: "t", expires_at: "2999-01-01T00:00:00Z", session_id: "c" }));
  server.on(/archive_messages/, (seen) => {
    batches.push((seen.body as { messages_batch: unknown[] }).messages_batch.length);
    return json({});
  });
  await conversation.send("one");
  expect([batches, archiveShelf.things.size]).toEqual([[], 2]);
  expect(archive.leave()).toBe(2);
  expect(JSON.parse(beacons[0] ?? "").messages_batch.length).toBe(2);
  await conversation.send("two");
  expect([batches, archiveShelf.things.size]).toEqual([[4], 0]);
});

test("a turn that the client keeps is with what is archived before it leaves the outbox, tools and end included", async () => {
  const { conversation, archive } = page();
  const order: string[] = [];
  const { put } = archiveShelf;
  archiveShelf.put = async (name, thing) => {
    order.push(`archived with ${shelf.things.size} unsent`);
    await put(name, thing);
  };
  server.on(
    /POST/,
    stream([
      ["start", { conversation_id: "c", session_id: "c", message_id: "reply", memories_used: [] }],
      ["tool_call", { id: "t1", tool_name: "search_memory", input: { query: "x" } }],
      ["tool_result", { id: "t1", output: "found" }],
      ["delta", { text: "Half" }],
      ["saved", { durability: "client", messages: [] }],
      ["done", { status: "interrupted", usage }],
    ]),
  );
  await conversation.send("Hi");
  expect(order).toEqual(["archived with 1 unsent", "archived with 1 unsent"]);
  expect(shelf.things.size).toBe(0);
  expect(archive.store.getState().waiting.at(-1)?.message).toMatchObject({
    content: "Half",
    status: "interrupted",
    tool_calls: [{ id: "t1", output: "found" }],
  });
});

test("a conversation that is cleared does not come back from what waited to be archived", async () => {
  const { conversation, archive } = page();
  server.on(/POST .*chat$/, stream(turn("client")));
  server.on(/POST .*clear/, json({}));
  server.on(/GET/, json({ id: "id1", title: null, messages: [], next: null }));
  await conversation.send("Hi");
  expect(archive.store.getState().waiting).toHaveLength(2);
  await conversation.clear();
  expect(archive.store.getState().waiting).toEqual([]);
  expect(archiveShelf.things.size).toBe(0);
});

test("archiving that fails is told of calmly, kept, and tried again", async () => {
  const { archive } = page();
  server.on(/archive_token/, lost()).on(/archive_messages/, lost(), json({}));
  const unarchived = {
    conversationId: "c",
    message: { id: "m", role: "user" as const, content: "x", created_at: "2026-01-01T00:00:00Z" },
  };
  await archive.add([unarchived]);
  await archive.flush();
  expect([archive.store.getState().failure, archiveShelf.things.size]).toEqual(["The server cannot be reached.", 1]);
  await archive.flush();
  expect([archive.store.getState().failure, archiveShelf.things.size]).toEqual([null, 0]);
});

test("what a failing turn says is shown as it was said", async () => {
  const { conversation, state } = page();
  const failed: [string, unknown][] = [
    ["start", { conversation_id: "c", session_id: "c", message_id: "r", memories_used: [] }],
    ["error", { code: "storage_unavailable", detail: "The disk is full." }],
  ];
  server.on(/POST \/api\/chat$/, stream(failed));
  await conversation.send("Hi");
  expect([state().draft, state().pending?.problem?.message, state().problem?.code]).toEqual([
    null,
    "The disk is full.",
    "storage_unavailable",
  ]);
  expect(shelf.things.size).toBe(1);
});

test("a later page follows the reply that an earlier one saw begin", async () => {
  const first = page();
  const kept: Unsent[] = [];
  const { put } = shelf;
  shelf.put = (name, thing) => {
    kept.push(thing);
    return put(name, thing);
  };
  server.on(/POST \/api\/chat$/, stream(turn())).on(/GET/, opened([message(1), message(2, "reply")]));
  await first.conversation.send("Hi");
  const begun = kept.at(-1) as Unsent;
  expect(begun.replyId).toBe("reply");

  shelf.things.set(begun.key, begun);
  const second = page();
  server.on(/GET \/api\/chat\/reply\/stream/, stream(turn()));
  server.on(/GET \/api\/conversations/, json({ id: begun.conversationId, messages: [], next: null }));
  await second.outbox.load();
  await second.conversation.open(begun.conversationId);
  const asked = server.seen.filter((one) => one.method === "POST").length;
  expect([asked, shelf.things.size, second.state().draft]).toEqual([1, 0, null]);
});

test("older messages that were read stay when a turn is added, also on a branch", async () => {
  const { conversation, state } = page();
  server.on(
    /GET \/api\/conversations\/c$/,
    opened([message(3), message(4)], "m3"),
    opened([message(4), message(9), message(10)], "m4"),
  );
  server.on(/GET \/api\/conversations\/c\/messages/, json({ items: [message(1), message(2)], next: null }));
  await conversation.open("c");
  await conversation.loadOlder();
  await conversation.refresh();
  expect([state().messages.map((one) => one.seq), state().older]).toEqual([[1, 2, 3, 4, 9, 10], null]);
  const summary = { ...message(3, "s"), role: "summary" } as Message;
  server.on(/GET \/api\/conversations\/c$/, opened([summary, message(4), message(9)], "s"));
  await conversation.refresh();
  await conversation.refresh();
  expect([state().messages.map((one) => one.id), state().older]).toEqual([["m1", "m2", "m3", "s", "m4", "m9"], null]);
});

test("another branch is shown to its end, and around the place where it parts", async () => {
  const { conversation, state } = page();
  server.on(
    /GET \/api\/conversations\/c$/,
    json({ id: "c", head_id: "a2", messages: [message(3, "u2"), message(4, "a2")], next: null }),
    json({ id: "c", head_id: "b1", messages: [message(1, "u1"), message(2, "b1")], next: null }),
  );
  server.on(/messages/, json({ items: [], next: null })).on(/PATCH/, json({}));
  await conversation.open("c");
  await conversation.selectBranch("b1", { messageId: "u1", step: -1 });
  expect(server.seen.find((one) => one.method === "PATCH")?.body).toEqual({ head_id: "b1" });
  expect(state().messages.map((one) => one.id)).toEqual(["u1", "b1"]);
  expect(state()).toMatchObject({ switched: { messageId: "u1" }, target: { messageId: "u1", isQuiet: true } });
  conversation.settled();
  expect(state().switched).toBeNull();
});

test("a memory that is changed or forgotten shows so under every reply", async () => {
  const { conversation, state } = page();
  server.on(/POST \/api\/chat$/, stream(turn())).on(/GET/, opened([message(1), message(2)]));
  await conversation.send("Hi");
  conversation.showMemory("mem", "Lives in Bergen");
  expect(state().memories.reply?.[0]?.content).toBe("Lives in Bergen");
  conversation.showMemory("mem", null);
  expect(state().memories.reply).toEqual([]);
});

test("what only the client has is sent along, and archived before a branch begins at it", async () => {
  const { conversation, state } = page();
  server.on(/POST \/api\/chat$/, () => stream(turn("client", `r${ids}`)));
  server.on(/archive_token/, json({ archive_token: "t", expires_at: "2999-01-01T00:00:00Z", session_id: "c" }));
  server.on(/archive_messages/, json({}));
  await conversation.send("one");
  const { id, messages } = state();
  server.on(/GET/, json({ id, messages: messages.map((one) => ({ ...one, parent_id: "root" })), next: null }));
  await conversation.edit(messages[0] as Message, "other");
  const chats = server.seen.filter((one) => one.url === "/api/chat").map((one) => one.body as { parent_id?: string });
  const archived = server.seen.findIndex((one) => one.url.includes("archive_messages"));
  expect([archived > 0, chats[1]?.parent_id]).toEqual([true, "root"]);
  await conversation.send("two");
  const last = server.seen.filter((one) => one.url === "/api/chat").at(-1)?.body as {
    new_messages: { content: string }[];
  };
  expect(last.new_messages.map((one) => one.content)).toEqual(["other", "Hello", "two"]);
});

test("a branch waits for what cannot be archived, and says so", async () => {
  const { conversation, state } = page();
  server.on(/POST \/api\/chat$/, () => stream(turn("client", `r${ids}`))).on(/archive/, lost());
  await conversation.send("one");
  await conversation.regenerate(state().messages[1]?.id ?? "");
  expect([state().problem?.code, server.seen.filter((one) => one.url === "/api/chat").length]).toEqual([
    "unarchived",
    1,
  ]);
});
