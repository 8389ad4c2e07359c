import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useEffect, useMemo, useRef } from "react";
import type { ListedConversation } from "../../api/types";
import { groupByDay, type Line } from "../../state/dayGroups";
import { Skeleton } from "../parts/Skeleton";
import { ConversationRow } from "./ConversationRow";
import { ListMessage } from "./ListMessage";
import { rowsAsSeen } from "./rowsAsSeen";
import { useConversations } from "./useConversations";

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
  const list = useConversations(search, isArchived);
  const lines = useMemo(
    (): Line<ListedConversation>[] =>
      search ? list.items.map((item) => ({ kind: "item", item })) : groupByDay(list.items, new Date()),
    [list.items, search],
  );

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

  const { readOn } = list;
  const lastShown = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (lastShown >= lines.length - AHEAD) readOn?.();
  }, [readOn, lastShown, lines.length]);

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the links inside, which are the controls.
    <div ref={box} className="min-h-0 flex-1 overflow-y-auto px-2 pb-2" onKeyDown={moveBetweenRows}>
      {lines.length === 0 ? (
        <ListMessage
          search={search}
          isArchived={isArchived}
          isLoading={list.isLoading}
          problem={list.problem}
          onRetry={list.retry}
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
      {list.isReadingOn && <Skeleton className="mx-2 mt-2 h-6" />}
    </div>
  );
}

/** Up and down go from row to row. */
function moveBetweenRows(event: KeyboardEvent<HTMLDivElement>): void {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  if (event.target instanceof HTMLInputElement) return;
  // The menu of a row is elsewhere on the page, and has its own use for these keys.
  if (!(event.target instanceof Node && event.currentTarget.contains(event.target))) return;
  const rows = rowsAsSeen(event.currentTarget);
  const at = rows.findIndex((row) => row.parentElement?.contains(document.activeElement));
  const row = rows[at + (event.key === "ArrowDown" ? 1 : -1)];
  if (!row) return;
  event.preventDefault();
  row.focus();
  row.scrollIntoView({ block: "nearest" });
}
