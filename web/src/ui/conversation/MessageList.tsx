import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { Message } from "../../api/types";
import { useApp, useStoreOf } from "../../app/AppContext";
import { type Row, rowsOf } from "../../state/messageRows";
import { ChevronDownIcon } from "../icons";
import { IconButton } from "../parts/IconButton";
import { DraftReply } from "./DraftReply";
import { MessageItem } from "./MessageItem";
import { PendingMessage } from "./PendingMessage";
import { SummaryDivider } from "./SummaryDivider";

/** Closer to the end than this counts as being there, and stays there while a reply grows. */
const AT_END = 90;
/** Older messages are read when this many are left above. */
const AHEAD = 6;

/** The messages, as many as there are; only what is seen is rendered. */
export function MessageList() {
  const { conversation } = useApp();
  const messages = useStoreOf(conversation.store, (state) => state.messages);
  const pending = useStoreOf(conversation.store, (state) => state.pending);
  const hasDraft = useStoreOf(conversation.store, (state) => state.draft !== null);
  const draftId = useStoreOf(conversation.store, (state) => state.draft?.messageId ?? null);
  const older = useStoreOf(conversation.store, (state) => state.older);
  const isLoading = useStoreOf(conversation.store, (state) => state.isLoading);
  const rows = useMemo(() => rowsOf({ messages, pending, hasDraft, draftId }), [messages, pending, hasDraft, draftId]);

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
    followOnAppend: true,
    scrollEndThreshold: AT_END,
  });
  const shown = virtual.getVirtualItems();
  // Reckoned from what the virtualizer knows: asking the page would make it lay out every row first.
  const below = virtual.getTotalSize() - (virtual.scrollRect?.height ?? 0) - (virtual.scrollOffset ?? 0);
  const isAtEnd = below <= AT_END;

  useLayoutEffect(() => {
    virtual.scrollToEnd();
    setPlaced(true);
  }, [virtual]);

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
  useEffect(() => {
    if (isPlaced && older !== null && !isLoading && firstShown < AHEAD) void conversation.loadOlder();
  }, [isPlaced, older, isLoading, firstShown, conversation]);

  const lastReply = rows.findLast((row) => row.kind === "message")?.key;
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
              <div
                key={one.key}
                ref={virtual.measureElement}
                data-index={one.index}
                className="contain-layout contain-style absolute inset-x-0 top-0 px-4"
                style={{ transform: `translateY(${one.start}px)` }}
              >
                <RowView row={row} isLast={row.key === lastReply && !pending} />
              </div>
            );
          })}
        </div>
      </section>
      {!isAtEnd && (
        <IconButton
          label="To the newest message"
          className="-translate-x-1/2 absolute bottom-3 left-1/2 rounded-full border border-line bg-surface shadow-soft"
          onClick={() => virtual.scrollToEnd()}
        >
          <ChevronDownIcon />
        </IconButton>
      )}
    </div>
  );
}

function RowView({ row, isLast }: { row: Row; isLast: boolean }) {
  switch (row.kind) {
    case "message":
      return <MessageItem message={row.message} isLast={isLast} />;
    case "summary":
      return <SummaryDivider message={row.message} />;
    case "pending":
      return <PendingMessage text={row.text} />;
    case "draft":
      return <DraftReply />;
  }
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
