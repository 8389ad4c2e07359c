import { QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Client } from "../src/api/client";
import type { Memory, MemoryPage } from "../src/api/types";
import { createMemoryActions, listKey, type MemoryPages, memoryKey } from "../src/app/memoryActions";
import { type ListQuery, listQuery } from "../src/state/memoryFilters";
import { NO_FILTERS } from "../src/state/memoryView";
import { createNotices } from "../src/state/notices";
import { remembered } from "./memory";
import { json, PlayedServer, problem } from "./server";

const ALL = listQuery(NO_FILTERS, "", undefined, new Date());
const ARCHIVED = listQuery(NO_FILTERS, "", "archived", new Date());
const WAITING = listQuery(NO_FILTERS, "", "review", new Date());

let server: PlayedServer;
let queries: QueryClient;

function started() {
  const notices = createNotices();
  const actions = createMemoryActions({ client: new Client(server.fetch), queries, notices });
  const told = () => notices.store.getState().notices;
  return { actions, told };
}

function list(query: ListQuery, ...items: Memory[]): void {
  const page: MemoryPage = { items, next: null, corrupt: [] };
  queries.setQueryData<MemoryPages>(listKey(query), { pages: [page], pageParams: [null] });
}

const listed = (query: ListQuery) =>
  queries.getQueryData<MemoryPages>(listKey(query))?.pages.flatMap((page) => page.items.map((one) => one.id));
const asked = () => server.seen.map((one) => `${one.method} ${one.url}`);

beforeEach(() => {
  server = new PlayedServer();
  queries = new QueryClient();
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("only what is not so yet is changed, and only that is undone", async () => {
  const [a, b] = [remembered({ id: "a" }), remembered({ id: "b", is_pinned: true })];
  list(ALL, a, b);
  server.on(/PATCH .*\/a$/, json({ ...a, is_pinned: true, version: 2 })).on(/undo$/, json(a));
  const { actions, told } = started();
  await actions.pin([a, b], true);
  expect(asked()).toEqual(["PATCH /api/memories/a"]);
  expect(told()[0]?.text).toBe("Memory pinned");
  told()[0]?.action?.act();
  await vi.waitFor(() => expect(told().at(-1)?.text).toBe("Undone"));
  expect(asked().slice(1)).toEqual(["POST /api/memories/a/undo"]);
});

test("what is archived leaves the list at once and can be brought back", async () => {
  const [a, b] = [remembered({ id: "a" }), remembered({ id: "b" })];
  list(ALL, a, b);
  list(ARCHIVED);
  server.on(/PATCH .*\/a$/, json({ ...a, is_archived: true }));
  const { actions, told } = started();
  await actions.archive([a], true);
  expect(listed(ALL)).toEqual(["b"]);
  expect(queries.getQueryData<Memory>(memoryKey("a"))?.is_archived).toBe(true);
  expect(told()[0]).toMatchObject({ text: "Memory archived", action: { label: "Undo" } });
});

test("of many the ones that fail stay, the others are done, and both are told", async () => {
  const many = Array.from({ length: 9 }, (_, at) => remembered({ id: `k${at}` }));
  list(ALL, ...many);
  server.on(/DELETE/, () => new Response(null, { status: 204 })).on(/DELETE .*\/k4$/, problem(404, "memory_not_found"));
  const { actions, told } = started();
  const steps: string[] = [];
  await actions.remove(many, (done, of) => steps.push(`${done}/${of}`));
  expect(listed(ALL)).toEqual(["k4"]);
  expect(told().map((one) => one.text)).toEqual(["1 not deleted: memory_not_found.", "8 memories deleted"]);
  expect([steps[0], steps.at(-1), steps.length]).toEqual(["0/9", "8/9", 10]);
});

test("a server that is busy is asked again, and one that refuses is not", async () => {
  const a = remembered({ id: "a" });
  server.on(/DELETE/, problem(429, "rate_limited"), problem(503, "busy"), new Response(null, { status: 204 }));
  const { actions, told } = started();
  const removing = actions.remove([a]);
  await vi.advanceTimersByTimeAsync(5_000);
  await removing;
  expect(asked()).toHaveLength(3);
  expect(told().map((one) => one.text)).toEqual(["Memory deleted"]);
});

test("an edit sends what changed and the version that it was begun with", async () => {
  const a = remembered({ id: "a", content: "Likes tea", version: 7 });
  list(ALL, a);
  server.on(/PATCH/, json({ ...a, content: "Likes green tea", version: 8 }));
  const { actions } = started();
  await actions.edit(a, { content: "Likes green tea", memory_type: "fact", category: null, importance: 0.5 });
  expect(server.seen[0]).toMatchObject({ body: { content: "Likes green tea" }, headers: { "If-Match": '"7"' } });
  await actions.edit(a, { content: "Likes tea" });
  expect(server.seen).toHaveLength(1);
  server.on(/PATCH/, problem(412, "stale_version"));
  await expect(actions.edit(a, { content: "Other" })).rejects.toMatchObject({ status: 412 });
});

test("an offer to undo ends with the next change of the same memory", async () => {
  const [a, b] = [remembered({ id: "a" }), remembered({ id: "b" })];
  server.on(/PATCH/, ({ url, body }) => json({ ...(url.endsWith("a") ? a : b), ...(body as Partial<Memory>) }));
  const { actions, told } = started();
  await actions.pin([a], true);
  await actions.pin([b], true);
  await actions.archive([a], true);
  expect(told().map((one) => one.text)).toEqual(["Memory pinned", "Memory archived"]);
  told()[0]?.action?.act();
  await vi.waitFor(() => expect(asked().at(-1)).toBe("POST /api/memories/b/undo"));
});

test("decisions about many are one request, and what was decided waits no longer", async () => {
  const many = Array.from({ length: 201 }, (_, at) => remembered({ id: `k${at}`, trust: "pending" }));
  list(WAITING, ...many);
  server.on(/POST .*review$/, ({ body }) => {
    const { ids } = body as { ids: string[] };
    return json({ items: ids.map((id) => remembered({ id })) });
  });
  const { actions, told } = started();
  expect(await actions.review(many, "approve")).toBe(true);
  expect(asked()).toEqual(["POST /api/memories/review", "POST /api/memories/review"]);
  expect(listed(WAITING)).toEqual([]);
  expect(told()[0]?.text).toBe("201 memories approved");
});

test("a decision that failed leaves the memory waiting", async () => {
  const a = remembered({ id: "a", trust: "pending" });
  list(WAITING, a);
  server.on(/review$/, problem(409, "conflict"));
  const { actions, told } = started();
  expect(await actions.review([a], "approve", "Better words")).toBe(false);
  expect(listed(WAITING)).toEqual(["a"]);
  expect(told().map((one) => one.text)).toEqual(["1 not approved: conflict."]);
});

test("what changed elsewhere is read from the beginning of a list, and the rest of a long one stays", async () => {
  const pages = Array.from({ length: 7 }, (_, at) => ({
    items: [remembered({ id: `p${at}` })],
    next: at === 6 ? null : `c${at + 1}`,
    corrupt: [],
  }));
  queries.setQueryData<MemoryPages>(listKey(ALL), { pages, pageParams: pages.map((_, at) => (at ? `c${at}` : null)) });
  server.on(/GET/, ({ url }) => {
    const at = Number(new URL(url, "http://here").searchParams.get("cursor")?.slice(1) ?? 0);
    return json({ items: [remembered({ id: at ? `p${at - 1}` : "new" })], next: `c${at + 1}`, corrupt: [] });
  });
  const { actions } = started();
  await actions.refreshList(ALL);
  expect(server.seen).toHaveLength(5);
  expect(listed(ALL)).toEqual(["new", "p0", "p1", "p2", "p3", "p4", "p5", "p6"]);
});

test("adding says whether it was remembered already", async () => {
  server.on(/POST/, json(remembered(), 201), json(remembered(), 200));
  const { actions } = started();
  expect(await actions.add({ content: "Likes tea", memory_type: "fact" }, "key")).toMatchObject({ isNew: true });
  expect(await actions.add({ content: "Likes tea", memory_type: "fact" }, "key")).toMatchObject({ isNew: false });
  expect(server.seen.map((one) => one.headers["Idempotency-Key"])).toEqual(["key", "key"]);
});
