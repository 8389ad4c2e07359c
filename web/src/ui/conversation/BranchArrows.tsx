import { useEffect, useRef } from "react";
import { asProblem } from "../../api/problem";
import type { Message } from "../../api/types";
import { useApp, useStoreOf } from "../../app/AppContext";
import { versionsOf } from "../../state/branches";
import { ChevronLeftIcon, ChevronRightIcon } from "../icons";
import { IconButton } from "../parts/IconButton";

/** Go between what was said, or answered, in the same place; each with all that follows it. */
export function BranchArrows({ message }: { message: Message }) {
  const { conversation, notices } = useApp();
  const isWriting = useStoreOf(conversation.store, (state) => state.draft !== null);
  const step = useStoreOf(conversation.store, ({ switched }) =>
    switched?.messageId === message.id ? switched.step : null,
  );
  const previous = useRef<HTMLButtonElement>(null);
  const next = useRef<HTMLButtonElement>(null);

  // The arrow that was pressed went with its message, so the one in its place gets the focus.
  useEffect(() => {
    if (step === null) return;
    const [wanted, other] = step === 1 ? [next.current, previous.current] : [previous.current, next.current];
    (wanted?.disabled ? other : wanted)?.focus({ preventScroll: true });
    conversation.settled();
  }, [step, conversation]);

  const versions = versionsOf(message);
  if (versions.length < 2) return null;
  const at = versions.findIndex((one) => one.id === message.id);

  const go = async (by: 1 | -1) => {
    const wanted = versions[at + by];
    if (!wanted) return;
    try {
      await conversation.selectBranch(wanted.headId, { messageId: wanted.id, step: by });
    } catch (error) {
      notices.tell(asProblem(error).message, { kind: "problem" });
    }
  };

  return (
    <fieldset aria-label="Versions" className="flex items-center text-soft text-xs tabular-nums">
      <IconButton
        ref={previous}
        label="Previous version"
        isSmall
        disabled={at <= 0 || isWriting}
        onClick={() => void go(-1)}
      >
        <ChevronLeftIcon className="size-4" />
      </IconButton>
      <span>
        {at + 1} / {versions.length}
      </span>
      <IconButton
        ref={next}
        label="Next version"
        isSmall
        disabled={at >= versions.length - 1 || isWriting}
        onClick={() => void go(1)}
      >
        <ChevronRightIcon className="size-4" />
      </IconButton>
    </fieldset>
  );
}
