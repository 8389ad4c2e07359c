import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import type { Client } from "../api/client";
import { asProblem } from "../api/problem";
import type { Memory, MemoryPage } from "../api/types";
import type { ListQuery } from "../state/memoryFilters";
import { withMemories, withNewFirst } from "../state/memoryLines";
import { memoriesCount } from "../state/memoryWords";
import type { Notices } from "../state/notices";
import { each, type Progress } from "./fewAtOnce";

/** Everything that is read again when a memory changes anywhere. */
export const MEMORIES_KEY = ["memories"];
/** The lists; they are not under the key above, for they read again only what is near the top. */
export const LISTS_KEY = ["memory lists"];
export const listKey = (query: ListQuery) => [...LISTS_KEY, query];
export const memoryKey = (id: string) => [...MEMORIES_KEY, "one", id];
export const historyKey = (id: string) => [...MEMORIES_KEY, "history", id];

export type MemoryPages = InfiniteData<MemoryPage, string | null>;
export type MemoryChanges = Partial<
  Pick<Memory, "content" | "memory_type" | "category" | "importance" | "is_pinned" | "is_archived">
>;
export type Decision = "approve" | "reject";

const PAGE = 100;
/** Pages that are read again when something changed. */
const READ_AGAIN = 5;
/** A server takes a deletion back for 30 seconds. */
export const UNDO_SHOWN_FOR = 20_000;
/** The most that the server decides about at once. */
const DECIDED_TOGETHER = 200;

const path = (id: string) => `/api/memories/${encodeURIComponent(id)}`;

/** Read a page of a list. */
export function readMemories(client: Client, query: ListQuery, cursor: string | null): Promise<MemoryPage> {
  return client.get<MemoryPage>("/api/memories", { query: { ...query, cursor, limit: PAGE } });
}

interface Parts {
  client: Client;
  queries: QueryClient;
  notices: Notices;
}

/** What can be done with memories, one or many; lists show it at once, and whatever changes can be undone. */
export function createMemoryActions({ client, queries, notices }: Parts) {
  const showListed = (change: (one: Memory) => Memory | null) =>
    queries.setQueriesData<MemoryPages>({ queryKey: LISTS_KEY }, (data) => {
      if (!data) return data;
      return { ...data, pages: withMemories(data.pages, change) };
    });

  /** Show what a memory has become; it leaves the lists that it no longer belongs to. */
  const show = (memory: Memory) => {
    for (const [key, data] of queries.getQueriesData<MemoryPages>({ queryKey: LISTS_KEY })) {
      const query = key[LISTS_KEY.length] as ListQuery;
      const isListed = belongs(memory, query);
      const pages = data && withMemories(data.pages, (one) => (one.id !== memory.id ? one : isListed ? memory : null));
      if (data && pages) queries.setQueryData<MemoryPages>(key, { ...data, pages });
    }
    queries.setQueryData(memoryKey(memory.id), memory);
  };

  const refresh = () => queries.invalidateQueries({ queryKey: MEMORIES_KEY });
  const fail = (what: string, error: unknown) =>
    notices.tell(`${what}: ${asProblem(error).message}`, { kind: "problem" });

  async function undo(ids: readonly string[]): Promise<void> {
    const { done, problem } = await each(ids, async (id) => show(await client.post<Memory>(`${path(id)}/undo`, {})));
    if (problem) fail(`${ids.length - done.length} of ${ids.length} not undone`, problem);
    else notices.tell(ids.length === 1 ? "Undone" : `${memoriesCount(ids.length)} brought back`);
    await refresh();
  }

  /** Offer to take a change back; the server takes back the last one, so an older offer for the same memory ends. */
  const offered: { notice: number; ids: readonly string[] }[] = [];
  const tellDone = (told: string, ids: readonly string[], milliseconds = UNDO_SHOWN_FOR) => {
    if (ids.length === 0) return;
    const changed = new Set(ids);
    for (const older of offered) if (older.ids.some((id) => changed.has(id))) notices.dismiss(older.notice);
    const text = ids.length === 1 ? `Memory ${told}` : `${memoriesCount(ids.length)} ${told}`;
    const action = { label: "Undo", act: () => void undo(ids) };
    offered.push({ notice: notices.tell(text, { action, milliseconds }), ids });
  };

  /** Change memories that are not so yet: to undo a change that changed nothing would undo another one. */
  async function changeAll(memories: readonly Memory[], changes: MemoryChanges, told: string, progress?: Progress) {
    const others = memories.filter((one) => isOther(one, changes));
    const byId = new Map(others.map((one) => [one.id, one]));
    const { done, problem } = await each(
      [...byId.keys()],
      async (id) => show(await client.patch<Memory>(path(id), changes)),
      progress,
    );
    if (problem) fail(`${others.length - done.length} not changed`, problem);
    tellDone(told, done);
    await refresh();
  }

  return {
    show,
    undo,
    refresh,

    /** Read the beginning of a list again, because something changed somewhere. */
    async refreshList(query: ListQuery): Promise<void> {
      const key = listKey(query);
      const read = queries.getQueryData<MemoryPages>(key)?.pages.length ?? 0;
      const first: MemoryPage[] = [];
      for (let cursor: string | null = null; first.length < Math.min(read, READ_AGAIN); ) {
        const page: MemoryPage = await readMemories(client, query, cursor);
        first.push(page);
        cursor = page.next;
        if (cursor === null) break;
      }
      queries.setQueryData<MemoryPages>(key, (data) => {
        if (!data || first.length === 0) return data;
        const pages = withNewFirst(data.pages, first);
        return { pages, pageParams: pages.map((_, at) => (at === 0 ? null : (pages[at - 1]?.next ?? null))) };
      });
    },

    pin: (memories: readonly Memory[], is_pinned: boolean, progress?: Progress) =>
      changeAll(memories, { is_pinned }, is_pinned ? "pinned" : "unpinned", progress),

    archive: (memories: readonly Memory[], is_archived: boolean, progress?: Progress) =>
      changeAll(memories, { is_archived }, is_archived ? "archived" : "restored", progress),

    /** Save an edit if nobody else changed the memory meanwhile; a stale one throws its problem. */
    async edit(memory: Memory, changes: MemoryChanges): Promise<void> {
      const changed = Object.entries(changes).filter(([name, value]) => memory[name as keyof MemoryChanges] !== value);
      if (!changed.length) return;
      const body = Object.fromEntries(changed);
      show(await client.patch<Memory>(path(memory.id), body, { version: memory.version }));
      tellDone("changed", [memory.id]);
      await refresh();
    },

    async remove(memories: readonly Memory[], progress?: Progress): Promise<void> {
      const begun = Date.now();
      const { done, problem } = await each(
        memories.map((one) => one.id),
        async (id) => {
          await client.delete(path(id));
          showListed((one) => (one.id === id ? null : one));
        },
        progress,
      );
      if (problem) fail(`${memories.length - done.length} not deleted`, problem);
      // What was deleted first can be brought back no longer than the server allows.
      tellDone("deleted", done, Math.max(UNDO_SHOWN_FOR - (Date.now() - begun), 5_000));
      await refresh();
    },

    /** Decide about memories that wait for review, one of them perhaps in other words; say whether all were. */
    async review(
      memories: readonly Memory[],
      decision: Decision,
      content?: string,
      progress?: Progress,
    ): Promise<boolean> {
      const told = decision === "approve" ? "approved" : "rejected";
      const done: string[] = [];
      try {
        for (let at = 0; at < memories.length; at += DECIDED_TOGETHER) {
          const ids = memories.slice(at, at + DECIDED_TOGETHER).map((one) => one.id);
          const [id] = ids;
          if (content !== undefined && id !== undefined)
            show(await client.post<Memory>(`${path(id)}/review`, { decision, content }));
          else {
            const { items } = await client.post<{ items: Memory[] }>("/api/memories/review", { ids, decision });
            items.forEach(show);
          }
          done.push(...ids);
          progress?.(done.length, memories.length);
        }
      } catch (error) {
        fail(`${memories.length - done.length} not ${told}`, error);
      }
      tellDone(told, done);
      await refresh();
      return done.length === memories.length;
    },

    /** Add a memory by hand; the same key again adds nothing. Say whether it was remembered already. */
    async add(fields: MemoryChanges, key: string): Promise<{ memory: Memory; isNew: boolean }> {
      const answer = await client.answer("POST", "/api/memories", { body: fields, key });
      const memory = (await answer.json()) as Memory;
      await refresh();
      return { memory, isNew: answer.status === 201 };
    },
  };
}

export type MemoryActions = ReturnType<typeof createMemoryActions>;

function isOther(memory: Memory, changes: MemoryChanges): boolean {
  return (Object.keys(changes) as (keyof MemoryChanges)[]).some((name) => memory[name] !== changes[name]);
}

/** Whether a memory that changed is still one of those that a list shows. */
function belongs(memory: Memory, query: ListQuery): boolean {
  if (query.as_of !== null) return true;
  return (
    memory.is_archived === query.archived &&
    memory.trust === query.trust &&
    (query.pinned === null || memory.is_pinned === query.pinned) &&
    (query.type === null || memory.memory_type === query.type) &&
    (query.category === null || memory.category === query.category) &&
    memory.superseded_by === null
  );
}
