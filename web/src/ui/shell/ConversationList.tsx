import { useInfiniteQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useEffect, useMemo, useRef } from "react";
import type { ListedConversation } from "../../api/types";
import { useApp, useStoreOf } from "../../app/AppContext";
import { listKey, readList } from "../../app/conversationActions";
import { groupByDay, type Line } from "../../state/dayGroups";
import { Skeleton } from "../parts/Skeleton";
import { ConversationRow } from "./ConversationRow";
import { ListMessage } from "./ListMessage";

const GROUP_HEIGHT = 34;
const ROW_HEIGHT = 38;
const FOUND_HEIGHT = 76;
/** Read on before the end is seen. */
const AHEAD = 15;

interface ConversationListProps {
  search: string;
  isArchived: boolean;
}

/** All conversations, as many as there are: only what is seen is rendered, and only what is near is read. */
export function ConversationList({ search, isArchived }: ConversationListProps) {
  const { client, removals } = useApp();
  const hidden = useStoreOf(removals.store, (state) => state.hidden);
  const key = listKey(search, isArchived);
  const list = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) => readList(client, key, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });

  const lines = useMemo((): Line<ListedConversation>[] => {
    const items = (list.data?.pages ?? []).flatMap((page) => page.items).filter((one) => !hidden.has(one.id));
    return search ? items.map((item) => ({ kind: "item", item })) : groupByDay(items, new Date());
  }, [list.data, hidden, search]);

  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: (at) => (lines[at]?.kind === "group" ? GROUP_HEIGHT : search ? FOUND_HEIGHT : ROW_HEIGHT),
    getItemKey: (at) => {
      const line = lines[at];
      return line?.kind === "item" ? line.item.id : `group ${line?.name}`;
    },
    overscan: 8,
  });
  const shown = virtual.getVirtualItems();

  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list;
  const lastShown = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && lastShown >= lines.length - AHEAD) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage, lastShown, lines.length]);

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the links inside, which are the controls.
    <div ref={box} className="min-h-0 flex-1 overflow-y-auto px-2 pb-2" onKeyDown={moveBetweenRows}>
      {lines.length === 0 ? (
        <ListMessage
          search={search}
          isArchived={isArchived}
          isLoading={list.isLoading}
          problem={list.error}
          onRetry={() => void list.refetch()}
        />
      ) : (
        <ul className="relative" style={{ height: virtual.getTotalSize() }}>
          {shown.map((one) => {
            const line = lines[one.index];
            if (!line) return null;
            return (
              <li
                key={one.key}
                ref={virtual.measureElement}
                data-index={one.index}
                className="absolute inset-x-0 top-0"
                style={{ transform: `translateY(${one.start}px)` }}
              >
                {line.kind === "group" ? (
                  <h2 className="px-2 pt-3 pb-1 font-medium text-soft text-xs">{line.name}</h2>
                ) : (
                  <ConversationRow item={line.item} search={search} />
                )}
              </li>
            );
          })}
        </ul>
      )}
      {isFetchingNextPage && <Skeleton className="mx-2 mt-2 h-6" />}
    </div>
  );
}

/** Up and down go from row to row. */
function moveBetweenRows(event: KeyboardEvent<HTMLDivElement>): void {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  if (event.target instanceof HTMLInputElement) return;
  const rows = [...event.currentTarget.querySelectorAll<HTMLAnchorElement>("a[data-conversation]")].sort(
    (one, other) => one.getBoundingClientRect().top - other.getBoundingClientRect().top,
  );
  const at = rows.findIndex((row) => row.parentElement?.contains(document.activeElement));
  const row = rows[at + (event.key === "ArrowDown" ? 1 : -1)];
  if (!row) return;
  event.preventDefault();
  row.focus();
  row.scrollIntoView({ block: "nearest" });
}
