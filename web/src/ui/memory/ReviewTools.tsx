import type { Memory } from "../../api/types";
import { addressOf } from "../../state/route";
import { CheckIcon, CloseIcon, PencilIcon } from "../icons";
import { Button } from "../parts/Button";
import { useMemories } from "./MemoryContext";

/** What a memory that waits is grounded on, and the decision. */
export function ReviewTools({ memory, onEdit }: { memory: Memory; onEdit: () => void }) {
  const { actions } = useMemories();
  return (
    <div className="mt-1.5 flex flex-col gap-2 px-1.5 pb-1">
      {memory.quote && <Quote memory={memory} />}
      <div className="flex flex-wrap gap-2">
        <Button look="solid" onClick={() => void actions.review([memory], "approve")}>
          <CheckIcon className="size-4" />
          Approve
        </Button>
        <Button onClick={onEdit}>
          <PencilIcon className="size-4" />
          Edit
        </Button>
        {memory.trust === "pending" && (
          <Button look="quiet" onClick={() => void actions.review([memory], "reject")}>
            <CloseIcon className="size-4" />
            Reject
          </Button>
        )}
      </div>
    </div>
  );
}

/** The words that say so; they lead to where they stand. */
export function Quote({ memory }: { memory: Memory }) {
  const { quote, source_conversation_id: id, source_message_id: messageId } = memory;
  if (!quote) return null;
  const words = <span className="line-clamp-4 break-words">“{quote}”</span>;
  return (
    <blockquote className="border-accent/40 border-l-2 pl-3 text-sm text-soft">
      {id && messageId ? (
        <a
          className="block rounded-control hover:underline"
          href={addressOf({ page: "conversation", id, messageId, quote })}
        >
          {words}
        </a>
      ) : (
        words
      )}
    </blockquote>
  );
}
