import type { Message } from "../api/types";
import type { OwnMessage } from "./archiveBatches";

/** A message that the server does not have, in the form of those that it has. */
export function unstored(conversationId: string, one: OwnMessage): Message {
  return {
    id: one.id,
    conversation_id: conversationId,
    seq: 0,
    parent_id: null,
    role: one.role,
    name: null,
    content: one.content,
    status: one.status ?? "complete",
    created_at: one.created_at,
    tool_calls: one.tool_calls ?? [],
    tool_call_id: null,
    suggested_values: null,
    suggested_actions: null,
    custom_payload: null,
    metadata: {},
    siblings: [],
    sibling_heads: [],
  };
}
