import { useState } from "react";
import type { Message } from "../../api/types";
import { useApp, useStoreOf } from "../../app/AppContext";
import { PencilIcon } from "../icons";
import { IconButton } from "../parts/IconButton";
import { BranchArrows } from "./BranchArrows";
import { CopyButton } from "./CopyButton";
import { EditMessage } from "./EditMessage";

export function UserMessage({ message }: { message: Message }) {
  const { conversation } = useApp();
  const isWriting = useStoreOf(conversation.store, (state) => state.draft !== null);
  const isTemporary = useStoreOf(conversation.store, (state) => state.isTemporary);
  const [isEditing, setEditing] = useState(false);

  if (isEditing) {
    return (
      <EditMessage
        text={message.content}
        onDone={(changed) => {
          setEditing(false);
          if (changed !== null) void conversation.edit(message, changed);
        }}
      />
    );
  }
  return (
    <article aria-label="You" className="group flex flex-col items-end pb-3">
      <div
        data-said=""
        className="max-w-[85%] whitespace-pre-wrap break-words rounded-panel rounded-br-sm bg-accent-soft px-3.5 py-2"
      >
        {message.content}
      </div>
      <div className="flex min-h-8 items-center gap-0.5">
        <span className="quiet-tools flex">
          <CopyButton text={message.content} />
          {!isTemporary && (
            <IconButton label="Edit" isSmall disabled={isWriting} onClick={() => setEditing(true)}>
              <PencilIcon className="size-4" />
            </IconButton>
          )}
        </span>
        <BranchArrows message={message} />
      </div>
    </article>
  );
}
