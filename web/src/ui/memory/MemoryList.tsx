import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useCallback, useEffect, useMemo, useRef } from "react";
import { useApp, useStoreOf } from "../../app/AppContext";
import type { ListQuery } from "../../state/memoryFilters";
import { memoryLines } from "../../state/memoryLines";
import { Skeleton } from "../parts/Skeleton";
import { ListLine } from "./ListLine";
import { useMemories } from "./MemoryContext";
import { MemoryListMessage } from "./MemoryListMessage";
import { MemoryRow } from "./MemoryRow";
import { useMemoryList } from "./useMemoryList";

const GROUP_HEIGHT = 32;
const ROW_HEIGHT = 66;
/** Read on before the end is seen. */
const AHEAD = 20;

/** All memories of a list, as many as there are: only what is seen is rendered, and only what is near is read. */
export function MemoryList({ query }: { query: ListQuery }) {
  const { memoryView } = useApp();
  const { selection } = useMemories();
  const sort = useStoreOf(memoryView.store, (state) => state.filters.sort);
  const { list, memories } = useMemoryList(query);
  const lines = useMemo(() => memoryLines(memories, sort, new Date()), [memories, sort]);
  const newest = useRef(memories);
  newest.current = memories;
  const listed = useCallback(() => newest.current.map((one) => one.id), []);

  // Another list, another choice; and what is gone is chosen no longer.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is the query that makes the list another one.
  useEffect(() => selection.clear, [selection, query]);
  useEffect(() => selection.keep(new Set(memories.map((one) => one.id))), [selection, memories]);

  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: (at) => (lines[at]?.kind === "group" ? GROUP_HEIGHT : ROW_HEIGHT),
    getItemKey: (at) => {
      const line = lines[at];
      return line?.kind === "item" ? line.item.id : `group ${line?.name}`;
    },
    overscan: 8,
  });
  const shown = virtual.getVirtualItems();

  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = list;
  const lastShown = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && !isFetchNextPageError && lastShown >= lines.length - AHEAD)
      void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage, lastShown, lines.length]);

  return (
    <>
      <ListLine memories={memories} hasMore={hasNextPage} query={query} />
      {/* biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the links inside, which are the controls. */}
      <div ref={box} className="min-h-0 flex-1 overflow-y-auto px-2 pb-6 md:px-5" onKeyDown={moveBetweenRows}>
        {lines.length === 0 ? (
          <MemoryListMessage
            query={query}
            isLoading={list.isLoading}
            problem={list.error}
            onRetry={() => void list.refetch()}
          />
        ) : (
          <ul aria-label="Memories" className="relative" style={{ height: virtual.getTotalSize() }}>
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
                    <MemoryRow memory={line.item} words={query.q ?? ""} listed={listed} />
                  )}
                </li>
              );
            })}
          </ul>
        )}
        {isFetchingNextPage && <Skeleton className="mx-2 mt-2 h-10" />}
        {isFetchNextPageError && (
          <button
            type="button"
            className="target mx-2 mt-2 text-accent text-sm underline"
            onClick={() => void fetchNextPage()}
          >
            More could not be read. Try again
          </button>
        )}
      </div>
    </>
  );
}

/** Up and down go from row to row. */
function moveBetweenRows(event: KeyboardEvent<HTMLDivElement>): void {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  if (event.target instanceof Element && event.target.matches("input:not([type=checkbox]),textarea,select")) return;
  const rows = [...event.currentTarget.querySelectorAll<HTMLAnchorElement>("a[data-memory]")].sort(
    (one, other) => one.getBoundingClientRect().top - other.getBoundingClientRect().top,
  );
  const here = document.activeElement?.closest("li");
  const at = rows.findIndex((row) => here?.contains(row));
  const row = rows[at + (event.key === "ArrowDown" ? 1 : -1)];
  if (!row) return;
  event.preventDefault();
  row.focus();
  row.scrollIntoView({ block: "nearest" });
}
