import { expect, test } from "vitest";
import type { ConversationPage, ListedConversation } from "../src/api/types";
import { createDrafts } from "../src/state/drafts";
import { withPlaced } from "../src/state/listPages";
import { createNotices } from "../src/state/notices";
import { createOutbox, type Unsent } from "../src/state/outbox";
import type { TabNews, Tabs } from "../src/state/tabs";

/** Tabs of one browser: what they hold and what they told. */
function browser() {
  const holding = new Map<string, number>();
  const listeners: ((news: TabNews) => void)[] = [];
  const things = new Map<string, Unsent>();
  const shelf = {
    put: async (name: string, thing: Unsent) => void things.set(name, thing),
    remove: async (name: string) => void things.delete(name),
    all: async () => [...things],
  };
  const tab = (): Tabs => ({
    hold(key) {
      holding.set(key, (holding.get(key) ?? 0) + 1);
      return () => {
        const left = (holding.get(key) ?? 1) - 1;
        if (left) holding.set(key, left);
        else holding.delete(key);
      };
    },
    held: async () => new Set(holding.keys()),
    tell: (news) => {
      for (const listener of listeners) listener(news);
    },
    hear: (listener) => void listeners.push(listener),
  });
  return { shelf, tab, holding };
}

const unsent = (key: string): Unsent => ({ key, conversationId: "c", body: {}, at: key });

test("what another tab sends is known and is nobody else's care, until that tab is gone", async () => {
  const { shelf, tab, holding } = browser();
  const one = createOutbox(shelf, tab());
  const other = createOutbox(shelf, tab());
  await one.put(unsent("k"));
  await other.load();
  expect([other.store.getState().waiting.length, [...other.store.getState().elsewhere]]).toEqual([1, ["k"]]);
  holding.clear();
  await other.load();
  expect([...other.store.getState().elsewhere]).toEqual([]);
});

test("a tab that is gone says nothing, so that it is looked for again", async () => {
  const { shelf, tab, holding } = browser();
  const looks: (() => void)[] = [];
  const later = ((look: () => void) => looks.push(look)) as unknown as typeof setTimeout;
  const other = createOutbox(shelf, tab(), later);
  await createOutbox(shelf, tab()).put(unsent("k"));
  await other.load();
  await other.load();
  expect(looks).toHaveLength(1);
  holding.clear();
  looks[0]?.();
  await expect.poll(() => [...other.store.getState().elsewhere]).toEqual([]);
  expect(looks).toHaveLength(1);
});

test("what this tab sends itself is not elsewhere, and is let go of once", async () => {
  const { shelf, tab, holding } = browser();
  const outbox = createOutbox(shelf, tab());
  await outbox.put(unsent("k"));
  await outbox.put({ ...unsent("k"), replyId: "r" });
  await outbox.load();
  expect([[...outbox.store.getState().elsewhere], holding.get("k")]).toEqual([[], 1]);
  await outbox.remove("k");
  expect([outbox.store.getState().waiting, holding.size]).toEqual([[], 0]);
});

test("a tab forgets what another one has seen to its end", async () => {
  const { shelf, tab } = browser();
  const [here, there] = [tab(), tab()];
  const one = createOutbox(shelf, there);
  const other = createOutbox(shelf, here);
  here.hear(({ key, isGone }) => isGone && other.forget(key));
  await one.put(unsent("k"));
  await other.load();
  await one.remove("k");
  expect(other.store.getState().waiting).toEqual([]);
});

test("what is typed goes along to a conversation that has no draft", () => {
  const drafts = createDrafts(null);
  drafts.set("blank", "half a thought");
  drafts.move("blank", "opened");
  expect([drafts.get("blank"), drafts.get("opened")]).toEqual(["", "half a thought"]);
  drafts.set("blank", "another");
  drafts.move("blank", "opened");
  expect(drafts.get("opened")).toBe("half a thought");
});

test("the newest notice that offers something is taken up by a key", () => {
  const notices = createNotices();
  const done: string[] = [];
  notices.tell("old", { action: { label: "Undo", act: () => void done.push("old") } });
  notices.tell("new", { action: { label: "Undo", act: () => void done.push("new") } });
  notices.tell("only told");
  expect([notices.undo(), notices.undo(), notices.undo(), done]).toEqual([true, true, false, ["new", "old"]]);
});

const listed = (id: string, day: number) =>
  ({ id, last_activity_at: `2026-01-${String(day).padStart(2, "0")}T00:00:00Z` }) as ListedConversation;
const page = (next: string | null, ...items: ListedConversation[]): ConversationPage => ({ items, next, corrupt: [] });
const ids = (pages: ConversationPage[]) => pages.map((one) => one.items.map((item) => item.id).join(" "));

test("a conversation is put where its activity belongs, once", () => {
  const pages = [page("1", listed("e", 25), listed("d", 20)), page("2", listed("b", 10))];
  expect(ids(withPlaced(pages, listed("c", 15)))).toEqual(["e d", "c b"]);
  expect(ids(withPlaced(pages, listed("f", 30)))).toEqual(["f e d", "b"]);
  expect(ids(withPlaced(pages, listed("d", 26)))).toEqual(["d e", "b"]);
  expect(ids(withPlaced(pages, listed("a", 5)))).toEqual(["e d", "b"]);
  expect(ids(withPlaced([page(null)], listed("a", 5)))).toEqual(["a"]);
  expect(ids(withPlaced([page(null, listed("b", 10))], listed("a", 5)))).toEqual(["b a"]);
});
