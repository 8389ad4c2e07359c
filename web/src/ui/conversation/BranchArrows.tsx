import { asProblem } from "../../api/problem";
import type { Message } from "../../api/types";
import { useApp, useStoreOf } from "../../app/AppContext";
import { ChevronLeftIcon, ChevronRightIcon } from "../icons";
import { IconButton } from "../parts/IconButton";

/** Go between what was said, or answered, in the same place. */
export function BranchArrows({ message }: { message: Message }) {
  const { conversation, notices } = useApp();
  const isWriting = useStoreOf(conversation.store, (state) => state.draft !== null);
  const { siblings } = message;
  if (siblings.length < 2) return null;
  const at = siblings.indexOf(message.id);

  const show = async (id: string | undefined) => {
    if (!id) return;
    try {
      await conversation.selectBranch(id);
    } catch (error) {
      notices.tell(asProblem(error).message, { kind: "problem" });
    }
  };

  return (
    <fieldset aria-label="Versions" className="flex items-center text-soft text-xs tabular-nums">
      <IconButton
        label="Previous version"
        isSmall
        disabled={at <= 0 || isWriting}
        onClick={() => void show(siblings[at - 1])}
      >
        <ChevronLeftIcon className="size-4" />
      </IconButton>
      <span>
        {at + 1} / {siblings.length}
      </span>
      <IconButton
        label="Next version"
        isSmall
        disabled={at >= siblings.length - 1 || isWriting}
        onClick={() => void show(siblings[at + 1])}
      >
        <ChevronRightIcon className="size-4" />
      </IconButton>
    </fieldset>
  );
}
