import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { Message } from "../../api/types";
import { useApp, useStoreOf } from "../../app/AppContext";
import { type Row, rowsOf } from "../../state/messageRows";
import { PlacedRow } from "./PlacedRow";
import { ToNewest } from "./ToNewest";

/** Closer to the end than this counts as being there, and stays there while a reply grows. */
const AT_END = 90;
/** More messages are read when this many are left above or below. */
const AHEAD = 6;

/** The messages, as many as there are; only what is seen is rendered. */
export function MessageList() {
  const { conversation } = useApp();
  const messages = useStoreOf(conversation.store, (state) => state.messages);
  const pending = useStoreOf(conversation.store, (state) => state.pending);
  const hasDraft = useStoreOf(conversation.store, (state) => state.draft !== null);
  const draftId = useStoreOf(conversation.store, (state) => state.draft?.messageId ?? null);
  const older = useStoreOf(conversation.store, (state) => state.older);
  const newer = useStoreOf(conversation.store, (state) => state.newer);
  const target = useStoreOf(conversation.store, (state) => state.target);
  const isLoading = useStoreOf(conversation.store, (state) => state.isLoading);
  const rows = useMemo(
    () => rowsOf({ messages, pending, newer, hasDraft, draftId }),
    [messages, pending, newer, hasDraft, draftId],
  );

  const box = useRef<HTMLDivElement>(null);
  const [isPlaced, setPlaced] = useState(false);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: (at) => estimate(rows[at]),
    getItemKey: (at) => rows[at]?.key ?? at,
    overscan: 5,
    paddingStart: 20,
    paddingEnd: 20,
    anchorTo: "end",
    // Far above, what comes after is read by whoever reads on, and does not pull them along.
    followOnAppend: newer === null,
    scrollEndThreshold: AT_END,
  });
  const shown = virtual.getVirtualItems();
  // Reckoned from what the virtualizer knows: asking the page would make it lay out every row first.
  const below = virtual.getTotalSize() - (virtual.scrollRect?.height ?? 0) - (virtual.scrollOffset ?? 0);
  const isAtEnd = newer === null && below <= AT_END;

  const current = useRef(rows);
  current.current = rows;
  useLayoutEffect(() => {
    const at = target?.messageId ? current.current.findIndex((row) => row.key === target.messageId) : -1;
    if (at >= 0) virtual.scrollToIndex(at, { align: target?.isQuiet ? "auto" : "center" });
    else virtual.scrollToEnd();
    setPlaced(true);
  }, [target, virtual]);

  // Whoever is taken somewhere reads on from there, also by keyboard.
  const arrivedAt = useRef(0);
  const onArrive = useCallback((row: HTMLElement, turn: number) => {
    if (arrivedAt.current === turn) return;
    arrivedAt.current = turn;
    if (!row.contains(document.activeElement)) row.focus({ preventScroll: true });
  }, []);

  // What one just said is seen, wherever one was reading.
  const pendingKey = pending?.key;
  useEffect(() => {
    if (pendingKey) virtual.scrollToEnd();
  }, [pendingKey, virtual]);

  // A reply that is done gets its tools below it.
  const isFollowing = useRef(isAtEnd);
  isFollowing.current = isAtEnd;
  useEffect(() => {
    if (!hasDraft && isFollowing.current) virtual.scrollToEnd();
  }, [hasDraft, virtual]);

  const firstShown = shown[0]?.index ?? 0;
  const lastShown = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    // On the way to a message, what is passed is not what is read.
    const isUnderWay = target?.messageId && !target.isQuiet && arrivedAt.current !== target.turn;
    if (!isPlaced || isLoading || isUnderWay) return;
    if (older !== null && firstShown < AHEAD) void conversation.loadOlder();
    else if (newer !== null && lastShown >= rows.length - AHEAD) void conversation.loadNewer();
  }, [isPlaced, isLoading, target, older, newer, firstShown, lastShown, rows.length, conversation]);

  const lastReply = newer === null ? rows.findLast((row) => row.kind === "message")?.key : undefined;
  return (
    <div className="relative min-h-0 flex-1">
      <section
        ref={box}
        // A region that scrolls must be reachable by keyboard.
        // biome-ignore lint/a11y/noNoninteractiveTabindex: see above.
        tabIndex={0}
        aria-label="Messages"
        className="h-full overflow-y-auto overscroll-contain outline-offset-[-2px]"
      >
        <div className="relative mx-auto w-full max-w-3xl" style={{ height: virtual.getTotalSize() }}>
          {shown.map((one) => {
            const row = rows[one.index];
            if (!row) return null;
            return (
              <PlacedRow
                key={one.key}
                row={row}
                index={one.index}
                start={one.start}
                isLast={row.key === lastReply && !pending}
                target={row.key === target?.messageId && !target.isQuiet ? target : null}
                measure={virtual.measureElement}
                onArrive={onArrive}
              />
            );
          })}
        </div>
      </section>
      {!isAtEnd && <ToNewest isFar={newer !== null} onGo={() => virtual.scrollToEnd()} />}
    </div>
  );
}

const guesses = new WeakMap<Message, number>();

/** A guess that is close keeps the scroll bar calm until a row is measured; it is asked for all rows again and again. */
function estimate(row: Row | undefined): number {
  if (row?.kind !== "message") return 56;
  const known = guesses.get(row.message);
  if (known !== undefined) return known;
  const lines = row.message.content.split("\n").length + row.message.content.length / 80;
  guesses.set(row.message, 64 + lines * 22);
  return 64 + lines * 22;
}
