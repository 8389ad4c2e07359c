import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import type { Client } from "../api/client";
import type { ConversationPage, ListedConversation } from "../api/types";
import { withChanged, withNewTop, withPlaced } from "../state/listPages";

/** A list of conversations: a search has all, the others have either part. */
export interface List {
  search: string;
  isArchived: boolean;
  /** Undefined is both. */
  isPinned?: boolean;
}

export const LISTS_KEY = ["conversations"];
export const listKey = (list: List) => [...LISTS_KEY, list];

type Pages = InfiniteData<ConversationPage, string | null>;
const PAGE = 50;

/** Read a page of a list; a search looks into archived conversations as well. */
export function readList(client: Client, list: List, cursor: string | null): Promise<ConversationPage> {
  const { search, isArchived, isPinned } = list;
  const query = search ? { q: search } : { archived: isArchived, pinned: isPinned };
  return client.get<ConversationPage>("/api/conversations", { query: { ...query, cursor, limit: PAGE } });
}

/** The lists that were read, changed in place: reading them again would cost as much as they are long. */
export function createConversationLists(client: Client, queries: QueryClient) {
  const eachList = (change: (pages: ConversationPage[], list: List) => ConversationPage[]) => {
    for (const query of queries.getQueryCache().findAll({ queryKey: LISTS_KEY })) {
      const list = query.queryKey[1] as List;
      queries.setQueryData<Pages>(query.queryKey, (data) => data && { ...data, pages: change(data.pages, list) });
    }
  };

  async function refreshOne(list: List): Promise<void> {
    const top = await readList(client, list, null).catch(() => null);
    if (!top) return;
    queries.setQueryData<Pages>(listKey(list), (data) => {
      if (!data) return data;
      const pages = withNewTop(data.pages, top);
      return { pages, pageParams: pages.map((_, at) => (at === 0 ? null : (pages[at - 1]?.next ?? null))) };
    });
  }

  return {
    /** Find a conversation that is listed. */
    find(id: string): ListedConversation | undefined {
      const lists = queries.getQueriesData<Pages>({ queryKey: LISTS_KEY });
      const pages = lists.flatMap(([, data]) => data?.pages ?? []);
      return pages.flatMap((page) => page.items).find((one) => one.id === id);
    },

    /** Show a conversation as it is now, in the lists that it belongs to. */
    show(one: ListedConversation): void {
      eachList((pages, list) => {
        if (list.search) return withChanged(pages, one.id, (found) => ({ ...found, ...one }));
        const isPart = list.isPinned === undefined || list.isPinned === one.is_pinned;
        if (list.isArchived === one.is_archived && isPart) return withPlaced(pages, one);
        return withChanged(pages, one.id, () => null);
      });
    },

    /** Take a conversation out of all lists. */
    drop: (id: string) => eachList((pages) => withChanged(pages, id, () => null)),

    /** Read the top of the lists that are shown again. */
    async refresh(): Promise<void> {
      const lists = queries.getQueryCache().findAll({ queryKey: LISTS_KEY, type: "active" });
      await Promise.all(lists.map((query) => refreshOne(query.queryKey[1] as List)));
    },
  };
}

export type ConversationLists = ReturnType<typeof createConversationLists>;
