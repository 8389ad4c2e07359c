import type { Context } from "../api/types";
import type { Route } from "./route";

export type BlockKind = Context["blocks"][number]["kind"];
type Item = Context["blocks"][number]["items"][number];

/** What each block is called. */
export const BLOCK_NAMES: Record<BlockKind, string> = {
  system: "System prompt",
  pinned: "Pinned memories",
  notes: "Notes",
  summaries: "Summaries",
  memories: "Recalled memories",
  passages: "Earlier messages",
  window: "Newest messages",
  given: "From the application",
  message: "Your message",
};

/** What one block takes of a prompt. */
export interface Share {
  kind: BlockKind;
  tokens: number;
  percent: number;
}

/** Say how much of a prompt each block takes, in the order in which the model reads them. */
export function sharesOf({ blocks }: Pick<Context, "blocks">): Share[] {
  const whole = blocks.reduce((sum, block) => sum + block.tokens, 0);
  return blocks
    .filter((block) => block.tokens > 0)
    .map(({ kind, tokens }) => ({ kind, tokens, percent: (tokens / whole) * 100 }));
}

/** Write the prompt as one text, to be looked at elsewhere. */
export function promptText({ prompt, messages }: Context): string {
  const said = messages.map((one) => {
    const calls = one.tool_calls.map((call) => `\n[calls ${call.tool_name} ${JSON.stringify(call.input)}]`).join("");
    return `## ${one.role}\n\n${one.text}${calls}`;
  });
  return [`## system\n\n${prompt}`, ...said].join("\n\n");
}

/** Say where an item comes from, if that can be shown. */
export function sourceOf(kind: BlockKind, item: Pick<Item, "id">, conversationId: string): Route | null {
  switch (kind) {
    case "pinned":
    case "memories":
      return { page: "memories", memoryId: item.id };
    case "notes":
      return { page: "memories", tab: "notes" };
    case "window":
      return { page: "conversation", id: conversationId, messageId: item.id };
    default:
      return null;
  }
}

/** What was left out for one reason. */
export interface LeftOutGroup {
  kind: BlockKind;
  why: string;
  tokens: number;
  ids: string[];
}

/** Put together what was left out for the same reason. */
export function leftOutGroups(left: Context["left_out"]): LeftOutGroup[] {
  const groups = new Map<string, LeftOutGroup>();
  for (const { kind, why, tokens, id } of left) {
    const group = groups.get(`${kind} ${why}`) ?? { kind, why, tokens: 0, ids: [] };
    groups.set(`${kind} ${why}`, { ...group, tokens: group.tokens + tokens, ids: [...group.ids, id] });
  }
  return [...groups.values()];
}
