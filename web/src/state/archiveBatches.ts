import type { Message, ToolCall } from "../api/types";

/** What the client says of a message that the server does not have. */
export interface OwnMessage {
  id: string;
  role: "user" | "assistant" | "tool";
  content: string;
  created_at: string;
  /** Of a reply, if it did not come to its end. */
  status?: Message["status"];
  tool_calls?: ToolCall[];
}

/** A message that only this client has: the server's policy leaves it to the client to archive. */
export interface Unarchived {
  conversationId: string;
  message: OwnMessage;
  /** Its place among all that waits; the archive counts. */
  place?: number;
}

/** What a waiting message is called. */
export function nameOf(one: Unarchived): string {
  return `${one.conversationId}\n${one.message.id}`;
}

/** Put what was kept into the order in which it was said; a shelf knows only names. */
export function inOrder(kept: Unarchived[]): Unarchived[] {
  return [...kept].sort((one, other) => (one.place ?? 0) - (other.place ?? 0));
}

/** Sort messages by their conversation, of all or of one. */
export function byConversation(waiting: Unarchived[], only?: string): Map<string, Unarchived[]> {
  const found = new Map<string, Unarchived[]>();
  for (const one of waiting) {
    if (only !== undefined && one.conversationId !== only) continue;
    const batch = found.get(one.conversationId);
    if (batch) batch.push(one);
    else found.set(one.conversationId, [one]);
  }
  return found;
}

/** What a message takes in a request, with the comma after it. */
export function bytesOf(one: Unarchived): number {
  return new TextEncoder().encode(JSON.stringify(one.message)).length + 1;
}

/** Cut a batch into parts of so many bytes; a message that is longer has a part of its own. */
export function chunked(batch: Unarchived[], most: number): Unarchived[][] {
  const chunks: Unarchived[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const one of batch) {
    const bytes = bytesOf(one);
    if (size + bytes > most) {
      chunks.push([]);
      size = 0;
    }
    chunks.at(-1)?.push(one);
    size += bytes;
  }
  return chunks;
}
