import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useApp } from "../../app/AppContext";
import { listKey, MEMORIES_KEY, readMemories } from "../../app/memoryActions";
import type { ListQuery } from "../../state/memoryFilters";
import { memoriesOf } from "../../state/memoryLines";
import { useMemories } from "./MemoryContext";

/** The memories of a list, as far as they were read; whatever changes anywhere is read again. */
export function useMemoryList(query: ListQuery) {
  const { client } = useApp();
  const { actions } = useMemories();
  const list = useInfiniteQuery({
    queryKey: listKey(query),
    queryFn: ({ pageParam }) => readMemories(client, query, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    // Its beginning is read again below.
    refetchOnMount: (one) => one.state.data === undefined,
    refetchOnReconnect: false,
  });
  // Events make everything under this key stale, and this is how a list hears of it.
  useQuery({
    queryKey: [...MEMORIES_KEY, "list is new", query],
    queryFn: async () => {
      await actions.refreshList(query);
      return Date.now();
    },
    staleTime: 0,
  });
  const memories = useMemo(() => memoriesOf(list.data?.pages ?? []), [list.data]);
  return { list, memories };
}
