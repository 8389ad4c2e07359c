import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Client } from "../src/api/client";
import { type Browser, live } from "../src/app/lifecycle";
import type { Archive } from "../src/state/archive";
import { type ConversationState, createConversation } from "../src/state/conversation";
import { createDrafts } from "../src/state/drafts";
import { createNotices, SHOWN_FOR } from "../src/state/notices";
import { createOutbox, type Unsent } from "../src/state/outbox";
import { createRemovals, UNDO_FOR } from "../src/state/removals";
import { addressOf, createRouter, type Route, routeOf } from "../src/state/route";
import { commandOf, createSingleKeys, SHORTCUTS } from "../src/state/shortcuts";
import { createTheme } from "../src/state/theme";
import { json, PlayedServer } from "./server";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function storage(): Storage & { things: Map<string, string> } {
  const things = new Map<string, string>();
  return {
    things,
    getItem: (name: string) => things.get(name) ?? null,
    setItem: (name: string, value: string) => void things.set(name, value),
    removeItem: (name: string) => void things.delete(name),
  } as unknown as Storage & { things: Map<string, string> };
}

function place(hash = "") {
  const listeners: (() => void)[] = [];
  const location = { hash };
  return {
    location,
    history: { replaceState: (_: unknown, __: string, url: string) => void Object.assign(location, { hash: url }) },
    addEventListener: (_: string, listener: () => void) => void listeners.push(listener),
    moved: () => listeners.forEach((listener) => void listener()),
  };
}

test("every page has an address that leads to it", () => {
  const routes: Route[] = [
    { page: "start" },
    { page: "new" },
    { page: "temporary" },
    { page: "conversation", id: "a/b c?#é%" },
    { page: "memories" },
    { page: "overview" },
    { page: "settings" },
  ];
  for (const route of routes) expect(routeOf(addressOf(route))).toEqual(route);
  for (const odd of ["", "#", "#/nowhere", "#/c/", "#/c/%", "#main"]) expect(routeOf(odd)).toEqual({ page: "start" });
});

test("going somewhere counts once, although the browser tells it again", () => {
  const window = place();
  const router = createRouter(window);
  let changes = 0;
  router.store.subscribe(() => void changes++);
  router.go({ page: "new" });
  window.moved();
  expect(changes).toBe(1);
  router.go({ page: "new" });
  expect(changes).toBe(2);
  window.location.hash = "#/c/x";
  window.moved();
  expect(router.store.getState().route).toEqual({ page: "conversation", id: "x" });
});

test("a draft belongs to its conversation and outlives the page, a temporary one does not", () => {
  const kept = storage();
  const first = createDrafts(kept);
  first.set("a", "half a thought");
  first.set("t", "secret", true);
  expect([first.get("a"), first.get("b"), first.get("t")]).toEqual(["half a thought", "", "secret"]);
  const second = createDrafts(kept);
  expect([second.get("a"), second.get("t")]).toEqual(["half a thought", ""]);
  second.set("a", "");
  expect(kept.things.size).toBe(0);
});

test("a browser without storage keeps drafts as long as the page", () => {
  const broken = { getItem: () => fail(), setItem: () => fail(), removeItem: () => fail() };
  const fail = (): never => {
    throw new DOMException("denied", "SecurityError");
  };
  const drafts = createDrafts(broken);
  drafts.set("a", "text");
  expect([drafts.get("a"), drafts.get("b"), createDrafts(null).get("a")]).toEqual(["text", "", ""]);
});

test("a theme is kept and shown, and the system's needs no mark", () => {
  const kept = storage();
  const root = { dataset: {} as DOMStringMap };
  const theme = createTheme(root, kept);
  expect(root.dataset.theme).toBeUndefined();
  theme.choose("dark");
  expect([root.dataset.theme, createTheme({ dataset: {} }, kept).store.getState().theme]).toEqual(["dark", "dark"]);
  theme.choose("system");
  expect("theme" in root.dataset).toBe(false);
});

test("notices go by themselves, and few are shown at once", () => {
  const { store, tell, dismiss } = createNotices();
  const first = tell("one");
  for (const text of ["two", "three", "four"]) tell(text);
  expect(store.getState().notices.map((one) => one.text)).toEqual(["two", "three", "four"]);
  dismiss(first + 1);
  expect(store.getState().notices.length).toBe(2);
  vi.advanceTimersByTime(SHOWN_FOR);
  expect(store.getState().notices).toEqual([]);
});

test("what is deleted is hidden at once, erased later, and can be taken back until then", async () => {
  const erased: string[] = [];
  const removals = createRemovals(() => undefined);
  const erase = (id: string) => async () => void erased.push(id);
  removals.begin("a", erase("a"));
  removals.begin("b", erase("b"));
  expect([...removals.store.getState().hidden]).toEqual(["a", "b"]);
  removals.undo("a");
  await vi.advanceTimersByTimeAsync(UNDO_FOR);
  expect([erased, [...removals.store.getState().hidden]]).toEqual([["b"], ["b"]]);
  removals.undo("b");
  expect(erased).toEqual(["b"]);
});

test("what cannot be erased comes back and is told of; a page that is left waits no longer", async () => {
  const failures: unknown[] = [];
  const removals = createRemovals((error) => failures.push(error));
  removals.begin("a", () => Promise.reject(new Error("away")));
  await removals.finish();
  expect([failures.length, removals.store.getState().hidden.size]).toEqual([1, 0]);
  await vi.advanceTimersByTimeAsync(UNDO_FOR);
  expect(failures.length).toBe(1);
});

const press = (key: string, more: Partial<Record<"ctrlKey" | "metaKey" | "altKey" | "shiftKey", boolean>> = {}) => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  shiftKey: false,
  ...more,
});

test("single keys can be turned off, and stay so", () => {
  const kept = new Map<string, string>();
  const storage = {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, text: string) => void kept.set(name, text),
    removeItem: (name: string) => void kept.delete(name),
  };
  const keys = createSingleKeys(storage);
  expect(keys.store.getState().isOn).toBe(true);
  keys.turn(false);
  expect(createSingleKeys(storage).store.getState().isOn).toBe(false);
  expect(createSingleKeys(null).store.getState().isOn).toBe(true);
});

test("keys mean something only where they write nothing", () => {
  expect(commandOf(press("n"), false)).toBe("new");
  expect(commandOf(press("n"), true)).toBeNull();
  expect(commandOf(press("?", { shiftKey: true }), false)).toBe("help");
  expect(commandOf(press("Escape"), true)).toBe("stop");
  expect(commandOf(press("k", { ctrlKey: true }), true)).toBe("search");
  expect(commandOf(press("K", { metaKey: true }), false)).toBe("search");
  for (const more of [{ ctrlKey: true }, { altKey: true }, { metaKey: true }])
    expect(commandOf(press("n", more), false)).toBeNull();
});

test("every key of the map does what it says", () => {
  for (const { command, keys } of SHORTCUTS) {
    const isShifted = keys[0] === "Shift";
    const last = keys.at(-1) ?? "";
    const key = last === "Esc" ? "Escape" : isShifted ? last : last.toLowerCase();
    expect(commandOf(press(key, { shiftKey: isShifted, ctrlKey: keys[0] === "mod" }), false)).toBe(command);
  }
});

function browser() {
  const heard = new Map<string, () => void>();
  const document = {
    visibilityState: "visible" as DocumentVisibilityState,
    addEventListener: (kind: string, act: () => void) => void heard.set(kind, act),
  };
  const made: Browser = { addEventListener: (kind, act) => void heard.set(kind, act), document };
  return { made, document, tell: (kind: string) => heard.get(kind)?.() };
}

async function lived(hash: string, unsent: Unsent[] = []) {
  const server = new PlayedServer()
    .on(/GET \/api\/conversations\//, (seen) =>
      json({ id: seen.url.split("/").at(-1), title: "T", messages: [], next: null }),
    )
    .on(/GET \/api\/conversations\/current/, json({ id: "last", title: "T", messages: [], next: null }));
  const calls: string[] = [];
  const archive = {
    load: async () => void calls.push("load"),
    leave: () => calls.push("leave"),
    flush: async () => undefined,
  } as unknown as Archive;
  const client = new Client(server.fetch);
  const outbox = createOutbox({
    put: async () => undefined,
    remove: async () => undefined,
    all: async () => unsent.map((one) => [one.key, one]),
  });
  const conversation = createConversation({ client, outbox, archive, wait: async () => undefined });
  const removals = createRemovals(() => undefined);
  const window = place(hash);
  const router = createRouter(window);
  const page = browser();
  const actions = { refreshLists: async () => undefined };
  const notices = createNotices();
  await live(page.made, { archive, outbox, conversation, removals, router, notices, actions });
  await vi.advanceTimersByTimeAsync(10);
  const state = (): ConversationState => conversation.store.getState();
  return { page, calls, server, window, router, conversation, removals, state };
}

test("hiding and leaving the page archives what waits; only leaving ends the time to undo", async () => {
  const { page, calls, removals } = await lived("#/new");
  const erased: string[] = [];
  removals.begin("a", async () => void erased.push("a"));
  page.document.visibilityState = "hidden";
  page.tell("visibilitychange");
  expect([calls, erased]).toEqual([["load", "leave"], []]);
  page.document.visibilityState = "visible";
  page.tell("visibilitychange");
  page.tell("pagehide");
  expect([calls, erased]).toEqual([["load", "leave", "leave"], ["a"]]);
});

test("a page without an address opens the conversation that was used last, and is called so", async () => {
  const { state, window } = await lived("");
  expect([state().id, window.location.hash]).toEqual(["last", "#/c/last"]);
});

test("a page goes first to what could not be sent", async () => {
  const { state, server } = await lived("", [
    { key: "k", conversationId: "c", body: { conversation_id: "c" }, at: "2026-01-01" },
  ]);
  expect(state().id).toBe("c");
  expect(server.seen.some((one) => one.method === "POST" && one.headers["Idempotency-Key"] === "k")).toBe(true);
});

test("the address decides what is shown, and a new conversation is not read", async () => {
  const { state, router, server, conversation } = await lived("#/c/one");
  expect(state().id).toBe("one");
  router.go({ page: "temporary" });
  expect(state().isTemporary).toBe(true);
  router.go({ page: "new" });
  const { id } = state();
  const before = server.seen.length;
  router.replace({ page: "conversation", id });
  expect([state().id, state().isTemporary, server.seen.length]).toEqual([id, false, before]);
  router.go({ page: "memories" });
  expect(conversation.store.getState().id).toBe(id);
});
