import { useInfiniteQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import type { ListedConversation } from "../../api/types";
import { useApp, useStoreOf } from "../../app/AppContext";
import { type List, listKey, readList } from "../../app/conversationLists";

/** The conversations of a list as far as they are read, pinned ones first wherever they stand in time. */
export function useConversations(search: string, isArchived: boolean) {
  const { removals } = useApp();
  const hidden = useStoreOf(removals.store, (state) => state.hidden);
  const isWhole = search !== "" || isArchived;
  const pinned = useList({ search: "", isArchived: false, isPinned: true }, !isWhole);
  const others = useList(isWhole ? { search, isArchived } : { search, isArchived, isPinned: false });

  const items = useMemo(() => {
    const read = [...(isWhole ? [] : itemsOf(pinned.data)), ...itemsOf(others.data)];
    return read.filter((one) => !hidden.has(one.id));
  }, [isWhole, pinned.data, others.data, hidden]);

  // All that is pinned stands above the rest, so it is read first.
  const next = !isWhole && pinned.hasNextPage ? pinned : others;
  const { hasNextPage, isFetchingNextPage, isError, fetchNextPage } = next;
  const readOn = useCallback(() => void fetchNextPage(), [fetchNextPage]);
  return {
    items,
    isLoading: others.isLoading || (!isWhole && pinned.isLoading),
    problem: others.error ?? pinned.error,
    retry: () => {
      void others.refetch();
      if (!isWhole) void pinned.refetch();
    },
    isReadingOn: isFetchingNextPage,
    /** Null while there is nothing more to read, or it is being read. */
    readOn: hasNextPage && !isFetchingNextPage && !isError ? readOn : null,
  };
}

function useList(list: List, enabled = true) {
  const { client } = useApp();
  return useInfiniteQuery({
    queryKey: listKey(list),
    queryFn: ({ pageParam }) => readList(client, list, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    // What changes is told by events, and reading all pages of a long list again would take as many requests.
    staleTime: Number.POSITIVE_INFINITY,
    enabled,
  });
}

function itemsOf(data: { pages: { items: ListedConversation[] }[] } | undefined): ListedConversation[] {
  return (data?.pages ?? []).flatMap((page) => page.items);
}
