import { useCallback, useEffect, useRef } from "react";
import type { Target } from "../../state/conversationState";
import type { Row } from "../../state/messageRows";
import { DraftReply } from "./DraftReply";
import { MessageItem } from "./MessageItem";
import { markQuote } from "./markQuote";
import { PendingMessage } from "./PendingMessage";
import { SummaryDivider } from "./SummaryDivider";

interface PlacedRowProps {
  row: Row;
  index: number;
  start: number;
  isLast: boolean;
  /** Given if the reader is to be taken here. */
  target: Target | null;
  measure: (element: HTMLElement | null) => void;
  onArrive: (row: HTMLElement, turn: number) => void;
}

/** A row in its place; one that was gone to has its quote marked. */
export function PlacedRow({ row, index, start, isLast, target, measure, onArrive }: PlacedRowProps) {
  const box = useRef<HTMLDivElement>(null);
  const hold = useCallback(
    (element: HTMLDivElement | null) => {
      box.current = element;
      measure(element);
    },
    [measure],
  );

  useEffect(() => {
    if (!target || !box.current) return;
    onArrive(box.current, target.turn);
    return markQuote(box.current, target.quote);
  }, [target, onArrive]);

  return (
    <div
      ref={hold}
      data-index={index}
      {...(target && { tabIndex: -1 })}
      className={`contain-layout contain-style absolute inset-x-0 top-0 px-4 ${target ? "target-row outline-none" : ""}`}
      style={{ transform: `translateY(${start}px)` }}
    >
      <RowView row={row} isLast={isLast} />
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
