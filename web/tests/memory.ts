import type { Memory } from "../src/api/types";

const AT = "2026-05-17T09:30:00Z";

/** A memory as the server tells it, with these of its values. */
export function remembered(values: Partial<Memory> = {}): Memory {
  return {
    id: "k1",
    agent: "assistant",
    memory_type: "fact",
    category: null,
    content: `Statement ${values.id ?? "k1"}`,
    importance: 0.5,
    confidence: 1,
    is_pinned: false,
    is_archived: false,
    origin: "user",
    trust: "active",
    quote: null,
    source_conversation_id: null,
    source_message_id: null,
    source_message_ids: [],
    subject: null,
    attribute: null,
    valid_from: null,
    valid_to: null,
    superseded_by: null,
    created_at: AT,
    updated_at: AT,
    last_accessed_at: AT,
    access_count: 0,
    version: 1,
    ...values,
  };
}
