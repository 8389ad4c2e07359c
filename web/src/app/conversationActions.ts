import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import type { Client } from "../api/client";
import { asProblem } from "../api/problem";
import type { Conversation, ConversationPage, ListedConversation } from "../api/types";
import type { ConversationStore } from "../state/conversation";
import { withChanged, withNewTop } from "../state/listPages";
import type { Notices } from "../state/notices";
import { type Removals, UNDO_FOR } from "../state/removals";
import type { Router } from "../state/route";

/** The lists of conversations: of each search, and of those that are archived or not. */
export const LISTS_KEY = ["conversations"];
export const listKey = (search: string, isArchived: boolean) => [...LISTS_KEY, { search, isArchived }];

type Pages = InfiniteData<ConversationPage, string | null>;
type Changes = Partial<Pick<Conversation, "title" | "is_pinned" | "is_archived">>;
type Named = Pick<Conversation, "id" | "title">;

interface Parts {
  client: Client;
  queries: QueryClient;
  notices: Notices;
  removals: Removals;
  router: Router;
  conversation: ConversationStore;
}

const path = (id: string) => `/api/conversations/${encodeURIComponent(id)}`;

/** What can be done with a conversation from its row or its header; lists and header show it at once. */
export function createConversationActions({ client, queries, notices, removals, router, conversation }: Parts) {
  const changeListed = (id: string, change: (one: ListedConversation) => ListedConversation | null) =>
    queries.setQueriesData<Pages>(
      { queryKey: LISTS_KEY },
      (data) => data && { ...data, pages: withChanged(data.pages, id, change) },
    );

  async function change(id: string, changes: Changes): Promise<boolean> {
    changeListed(id, (one) => ({ ...one, ...changes }));
    try {
      conversation.showConversation(await client.patch<Conversation>(path(id), changes));
      return true;
    } catch (error) {
      notices.tell(`Not changed: ${asProblem(error).message}`, { kind: "problem" });
      return false;
    } finally {
      if (changes.is_archived !== undefined) await queries.invalidateQueries({ queryKey: LISTS_KEY });
      else await refreshLists();
    }
  }

  /** Read the top of the lists that are shown again. */
  async function refreshLists(): Promise<void> {
    const lists = queries.getQueryCache().findAll({ queryKey: LISTS_KEY, type: "active" });
    await Promise.all(lists.map((list) => refreshList(list.queryKey as ReturnType<typeof listKey>)));
  }

  async function refreshList(key: ReturnType<typeof listKey>): Promise<void> {
    const top = await readList(client, key, null).catch(() => null);
    if (!top) return;
    queries.setQueryData<Pages>(key, (data) => {
      if (!data) return data;
      const pages = withNewTop(data.pages, top);
      return { pages, pageParams: pages.map((_, at) => (at === 0 ? null : (pages[at - 1]?.next ?? null))) };
    });
  }

  return {
    refreshLists,

    rename: (id: string, title: string) => change(id, { title }),
    pin: (id: string, is_pinned: boolean) => change(id, { is_pinned }),

    async archive({ id }: Named, isArchived: boolean): Promise<void> {
      if (!(await change(id, { is_archived: isArchived }))) return;
      const undo = { label: "Undo", act: () => void change(id, { is_archived: !isArchived }) };
      notices.tell(isArchived ? "Conversation archived" : "Conversation restored", { action: undo });
    },

    /** Delete a conversation, and what was learned only from it, once it can no longer be taken back. */
    remove({ id, title }: Named): void {
      if (conversation.store.getState().id === id) router.go({ page: "new" });
      removals.begin(id, async () => {
        await client.delete(path(id), { outlives: true });
        changeListed(id, () => null);
      });
      const undo = { label: "Undo", act: () => removals.undo(id) };
      notices.tell(`Deleted “${shortened(title ?? "Untitled")}”`, { action: undo, milliseconds: UNDO_FOR - 500 });
    },

    exportAddress: (id: string, format: "md" | "json") => `${path(id)}/export?format=${format}`,
  };
}

export type ConversationActions = ReturnType<typeof createConversationActions>;

/** Read a page of a list; a search looks into archived conversations as well. */
export function readList(
  client: Client,
  key: ReturnType<typeof listKey>,
  cursor: string | null,
): Promise<ConversationPage> {
  const { search, isArchived } = key[1] as { search: string; isArchived: boolean };
  return client.get<ConversationPage>("/api/conversations", {
    query: { q: search, archived: search ? null : isArchived, cursor, limit: 50 },
  });
}

function shortened(title: string): string {
  return title.length > 40 ? `${title.slice(0, 39)}…` : title;
}
