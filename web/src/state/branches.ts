import type { ChatBody } from "../api/chat";
import type { Message } from "../api/types";

/** Say which message a turn answers if it begins a branch; undefined if it goes on from the newest. */
export function branchingPoint(body: ChatBody, messages: Message[]): string | null | undefined {
  if (!body.regenerate) return body.parent_id;
  const again = messages.find((one) => one.id === body.regenerate);
  return again?.role === "user" ? again.id : again?.parent_id;
}

/** What was said or answered in one place, and where the branch through it ends. */
export interface Version {
  id: string;
  headId: string;
}

/** Give what stands in the place of a message on this and other branches, oldest first; nothing if it stands alone. */
export function versionsOf({ siblings, sibling_heads }: Pick<Message, "siblings" | "sibling_heads">): Version[] {
  return siblings.map((id, at) => ({ id, headId: sibling_heads[at] ?? id }));
}

/** A message of an export, which has all branches, oldest first. */
export interface ExportedRecord {
  kind: string;
  id: string;
  parent_id?: string | null;
}

/** Find the newest message that a message leads to. */
export function endOfBranch(records: ExportedRecord[], messageId: string): string {
  const led = new Set([messageId]);
  let end = messageId;
  for (const one of records) {
    if (one.kind === "message" && one.parent_id && led.has(one.parent_id)) {
      led.add(one.id);
      end = one.id;
    }
  }
  return end;
}
