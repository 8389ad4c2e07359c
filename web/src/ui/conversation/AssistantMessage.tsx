import type { MemoryUsed, Message } from "../../api/types";
import { useApp, useStoreOf } from "../../app/AppContext";
import { RefreshIcon } from "../icons";
import { InspectButton } from "../inspector/InspectButton";
import { IconButton } from "../parts/IconButton";
import { BranchArrows } from "./BranchArrows";
import { CopyButton } from "./CopyButton";
import { Markdown } from "./Markdown";
import { MemoriesUsed } from "./MemoriesUsed";
import { Suggestions } from "./Suggestions";
import { ToolCalls } from "./ToolCalls";

interface AssistantMessageProps {
  message: Message;
  isLast: boolean;
}

const NONE: MemoryUsed[] = [];

export function AssistantMessage({ message, isLast }: AssistantMessageProps) {
  const { conversation } = useApp();
  const memories = useStoreOf(conversation.store, (state) => state.memories[message.id] ?? NONE);
  const isWriting = useStoreOf(conversation.store, (state) => state.draft !== null);
  const isTemporary = useStoreOf(conversation.store, (state) => state.isTemporary);
  const isOnlyCalls = !message.content && message.tool_calls.length > 0 && !isLast;
  return (
    <article aria-label="Assistant" className={`group ${isOnlyCalls ? "" : "pb-4"}`}>
      <ToolCalls calls={message.tool_calls} />
      {message.content && <Markdown text={message.content} />}
      {message.status === "interrupted" && <p className="mt-1 text-soft text-xs">Stopped here</p>}
      {message.status === "failed" && <p className="mt-1 text-danger text-sm">The reply could not be written.</p>}
      <MemoriesUsed memories={memories} />
      {isLast && !isWriting && <Suggestions message={message} />}
      {/* A message that only calls tools goes on in the next one. */}
      <div hidden={isOnlyCalls} className="-ml-1.5 mt-1 flex min-h-8 items-center gap-0.5">
        <BranchArrows message={message} />
        <span className={isLast ? "flex" : "quiet-tools flex"}>
          <CopyButton text={message.content} />
          {!isTemporary && (
            <IconButton
              label="Answer again"
              isSmall
              disabled={isWriting}
              onClick={() => void conversation.regenerate(message.id)}
            >
              <RefreshIcon className="size-4" />
            </IconButton>
          )}
          <InspectButton
            label="What the model saw"
            isSmall
            inspected={() => ({ kind: "reply", conversationId: message.conversation_id, messageId: message.id })}
          />
        </span>
      </div>
    </article>
  );
}
