import { expect, test } from "vitest";
import { Client } from "../src/api/client";
import type { Imported, ServerSettings } from "../src/api/types";
import { createDrafts } from "../src/state/drafts";
import { createImporting, partsOf } from "../src/state/importing";
import { createLeaving } from "../src/state/leaving";
import { createOutbox } from "../src/state/outbox";
import { createPreferences, type Preferences } from "../src/state/preferences";
import { json, lost, PlayedServer, problem } from "./server";

const settings = (user: Partial<Preferences>) =>
  ({ user: { memory_enabled: true, instructions: "", version: 1, ...user } }) as ServerSettings;

const PATCH = /PATCH \/api\/settings/;
const GET = /GET \/api\/settings/;

function preferences(server: PlayedServer, first = settings({}), drafts = createDrafts(null)) {
  const held = { settings: first };
  const store = createPreferences({
    client: new Client(server.fetch),
    drafts,
    known: () => held.settings,
    show: (shown) => {
      held.settings = shown;
    },
  });
  return { ...store, held };
}

const sent = (server: PlayedServer) =>
  server.seen.filter((one) => one.method === "PATCH").map((one) => [one.headers["If-Match"], one.body]);

test("memory is turned off on the version that is known, and shown as the server says", async () => {
  const server = new PlayedServer().on(PATCH, json(settings({ memory_enabled: false, version: 2 })));
  const known = preferences(server);
  expect(await known.setMemory(false)).toBe(true);
  expect(sent(server)).toEqual([['"1"', { memory_enabled: false }]]);
  expect(known.held.settings.user).toMatchObject({ memory_enabled: false, version: 2 });
});

test("a switch is turned although something else was set meanwhile", async () => {
  const server = new PlayedServer()
    .on(PATCH, problem(412, "stale_version"), json(settings({ memory_enabled: false, version: 8 })))
    .on(GET, json(settings({ instructions: "elsewhere", version: 7 })));
  expect(await preferences(server).setMemory(false)).toBe(true);
  expect(sent(server).map(([version]) => version)).toEqual(['"1"', '"7"']);
});

test("a switch that cannot be turned says why and stays", async () => {
  const known = preferences(new PlayedServer().on(PATCH, lost()));
  expect(await known.setMemory(false)).toBe(false);
  expect(known.store.getState()).toMatchObject({ isSaving: false, problem: "The server cannot be reached." });
  expect(known.held.settings.user.memory_enabled).toBe(true);
});

test("instructions are saved as typed, onto what they were when typing began", async () => {
  const server = new PlayedServer().on(PATCH, json(settings({ instructions: "Be brief.", version: 2 })));
  const known = preferences(server);
  known.type("Be");
  known.type("Be brief.");
  expect(await known.save()).toBe("saved");
  expect(sent(server)).toEqual([['"1"', { instructions: "Be brief." }]]);
  expect(known.store.getState().edit).toBeNull();
});

test("instructions of another device are not overwritten unseen, and what was typed stays", async () => {
  const server = new PlayedServer()
    .on(PATCH, problem(412, "stale_version"))
    .on(GET, json(settings({ instructions: "theirs", version: 3 })));
  const known = preferences(server);
  known.type("mine");
  expect(await known.save()).toBeNull();
  expect(known.store.getState()).toMatchObject({ theirs: "theirs", edit: { text: "mine" } });
  server.on(PATCH, json(settings({ instructions: "mine", version: 4 })));
  expect(await known.keepMine()).toBe("saved");
  expect(sent(server).at(-1)).toEqual(['"3"', { instructions: "mine" }]);
});

test("another preference that was set meanwhile is no reason to ask", async () => {
  const server = new PlayedServer()
    .on(PATCH, problem(412, "stale_version"), json(settings({ instructions: "mine", version: 4 })))
    .on(GET, json(settings({ memory_enabled: false, version: 3 })));
  const known = preferences(server);
  known.type("mine");
  expect(await known.save()).toBe("saved");
});

test("a secret that the server took out of instructions is told", async () => {
  const known = preferences(new PlayedServer().on(PATCH, json(settings({ instructions: "[redacted]", version: 2 }))));
  known.type("sk-secret");
  expect(await known.save()).toBe("redacted");
});

test("typed instructions are there on the next page, until they are dropped", () => {
  const kept = new Map<string, string>();
  const storage = {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, text: string) => void kept.set(name, text),
    removeItem: (name: string) => void kept.delete(name),
  };
  preferences(new PlayedServer(), settings({ instructions: "old" }), createDrafts(storage)).type("half a sen");
  const next = preferences(new PlayedServer(), settings({ version: 9 }), createDrafts(storage));
  expect(next.store.getState().edit).toEqual({ text: "half a sen", base: "old", version: 1 });
  next.drop();
  expect(kept.size).toBe(0);
});

const line = (kind: string, size = 40) => `{"kind":"${kind}","x":"${"é".repeat(size)}"}\n`;
const texts = async (file: Blob, most: number) =>
  Promise.all((await partsOf(file, most)).map(({ start, end }) => file.slice(start, end).text()));
const kinds = (part: string) =>
  part
    .split("\n")
    .filter(Boolean)
    .map((one) => (JSON.parse(one) as { kind: string }).kind[0])
    .join("");

test("a file is cut between lines into parts that fit, conversations and notes whole where they can be", async () => {
  const all = [
    "export",
    "conversation",
    "message",
    "message",
    "conversation",
    "message",
    "memory",
    "note",
    "note",
    "end",
  ];
  const file = new Blob(all.map((kind) => line(kind)));
  const one = new TextEncoder().encode(line("message")).length;
  const parts = await texts(file, one * 4 + 20);
  expect(parts.join("")).toBe(await file.text());
  expect(parts.map(kinds)).toEqual(["ecmm", "cmm", "nne"]);
  expect((await partsOf(file, one * 4 + 20)).map((part) => part.line)).toEqual([1, 5, 8]);
  expect((await texts(file, 10_000_000)).length).toBe(1);
  expect(await partsOf(new Blob([]), 100)).toEqual([]);
});

test("what cannot be kept whole is cut all the same, and a last line needs no break", async () => {
  const many = `${line("conversation")}${line("message").repeat(7)}`.trimEnd();
  const most = new TextEncoder().encode(line("message")).length * 3;
  const parts = await texts(new Blob([many]), most);
  expect(parts.join("")).toBe(many);
  expect(parts.every((part) => new TextEncoder().encode(part).length <= most)).toBe(true);
});

const IMPORTED: Imported = {
  conversations: 1,
  messages: 2,
  summaries: 0,
  memories: 0,
  notes: 0,
  preferences: 0,
  skipped: 1,
  refused: 1,
  refusals: [{ line: 2, why: "erased" }],
};

test("the parts of an import are sent in order and counted together, lines as in the file", async () => {
  const server = new PlayedServer().on(/POST \/api\/import/, json(IMPORTED));
  const importing = createImporting(new Client(server.fetch));
  const file = new Blob([line("conversation"), line("message"), line("conversation"), line("message")]);
  const seen = new Set<number>();
  importing.store.subscribe(({ progress }) => progress && seen.add(progress.done));
  await importing.run(file, true, file.size / 2 + 10);
  expect(server.seen.map((one) => one.url)).toEqual(["/api/import?trusted=true", "/api/import?trusted=true"]);
  expect(server.seen[0]?.headers["Content-Type"]).toBe("application/x-ndjson");
  const { progress, result } = importing.store.getState();
  expect(progress).toBeNull();
  expect(result).toMatchObject({ conversations: 2, messages: 4, skipped: 2, refused: 2 });
  expect(result?.refusals.map((one) => one.line)).toEqual([2, 4]);
  expect([...seen]).toEqual([0, file.size / 2, file.size]);
});

test("a bad line is named as it stands in the file, and what was stored before is told", async () => {
  const bad = new Response(JSON.stringify({ code: "invalid_input", detail: "line 2: no JSON; mend the line" }), {
    status: 422,
  });
  const server = new PlayedServer().on(/POST/, json(IMPORTED), bad);
  const importing = createImporting(new Client(server.fetch));
  const file = new Blob([line("conversation"), line("message"), line("conversation"), line("message")]);
  await importing.run(file, false, file.size / 2 + 10);
  expect(importing.store.getState()).toMatchObject({
    problem: "line 4: no JSON; mend the line",
    result: { conversations: 1 },
  });
});

test("whoever leaves is told how many texts only this browser has, and none of them stays", async () => {
  const kept = new Map([
    ["recollect.draft.c-1", "half"],
    ["recollect.theme", "dark"],
    ["recollect.draft.#notes", "{}"],
  ]);
  const storage = {
    get length() {
      return kept.size;
    },
    key: (at: number) => [...kept.keys()][at] ?? null,
    removeItem: (name: string) => void kept.delete(name),
  };
  const shelf = { put: async () => undefined, remove: async () => undefined, all: async () => [] };
  const outbox = createOutbox(shelf);
  await outbox.put({ key: "k", conversationId: "c-1", body: { message: "unsent" }, at: "2026-05-17" } as never);
  const leaving = createLeaving(() => storage, outbox);
  expect(leaving.count()).toBe(3);
  await leaving.clear();
  expect(leaving.count()).toBe(0);
  expect([...kept.keys()]).toEqual(["recollect.theme"]);
  const forbidden = () => {
    throw new DOMException("no", "SecurityError");
  };
  expect(createLeaving(forbidden, outbox).count()).toBe(0);
});
