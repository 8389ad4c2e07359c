import { memo } from "react";
import type { Message } from "../../api/types";
import { AssistantMessage } from "./AssistantMessage";
import { UserMessage } from "./UserMessage";

interface MessageItemProps {
  message: Message;
  /** Whether it is the newest, so that what it suggests can still be said. */
  isLast: boolean;
}

export const MessageItem = memo(function MessageItem({ message, isLast }: MessageItemProps) {
  if (message.role === "user") return <UserMessage message={message} />;
  if (message.role === "assistant") return <AssistantMessage message={message} isLast={isLast} />;
  return <p className="pb-5 text-center text-sm text-soft">{message.content}</p>;
});
