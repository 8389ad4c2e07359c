import type { Message } from "../api/types";
import type { ConversationState } from "./conversationState";

/** A row of the conversation as it is shown. */
export type Row =
  | { kind: "message"; key: string; message: Message }
  | { kind: "summary"; key: string; message: Message }
  | { kind: "pending"; key: string; text: string }
  | { kind: "draft"; key: string };

type Shown = Pick<ConversationState, "messages" | "pending" | "newer"> & { draftId: string | null; hasDraft: boolean };

/** Put what is stored, what is being sent and what is being written into one order. */
export function rowsOf({ messages, pending, newer, draftId, hasDraft }: Shown): Row[] {
  // What is being said stands at the end, which is not shown while somebody reads far above.
  if (newer !== null) return messages.flatMap(rowOf);
  const isSaved = draftId !== null && messages.some((one) => one.id === draftId);
  // What follows the place where a branch begins belongs to the branch that is being left.
  const rows: Row[] = (isSaved ? messages : before(messages, pending?.after)).flatMap(rowOf);
  if (isSaved) return rows;
  if (pending?.text) rows.push({ kind: "pending", key: "pending", text: pending.text });
  if (hasDraft) rows.push({ kind: "draft", key: draftId ?? "draft" });
  return rows;
}

function rowOf(message: Message): Row[] {
  // The output of a tool is shown with its call.
  if (message.role === "tool") return [];
  if (message.role === "summary") return [{ kind: "summary", key: `summary ${message.id}`, message }];
  return [{ kind: "message", key: message.id, message }];
}

function before(messages: Message[], after: string | null | undefined): Message[] {
  if (after === undefined) return messages;
  if (after === null) return [];
  const at = messages.findIndex((one) => one.id === after);
  return at < 0 ? messages : messages.slice(0, at + 1);
}
