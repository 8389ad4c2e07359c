import type { Context } from "../../api/types";
import { BLOCK_NAMES, type BlockKind } from "../../state/promptParts";
import { ChevronRightIcon } from "../icons";
import { PromptItem } from "./PromptItem";

const WHOLE = new Intl.NumberFormat();
/** What one mostly wants to know is open from the beginning. */
const OPEN: ReadonlySet<BlockKind> = new Set(["pinned", "memories", "passages", "message"]);

/** What the prompt is made of, block by block, in the order in which the model reads it. */
export function PromptBlocks({ context, conversationId }: { context: Context; conversationId: string }) {
  return (
    <div className="flex flex-col gap-2">
      {context.blocks.map((block) => (
        <details
          key={block.kind}
          open={OPEN.has(block.kind)}
          className="group/block overflow-hidden rounded-panel border border-line bg-surface"
        >
          <summary className="target flex list-none items-center gap-2.5 px-3 py-2 text-sm hover:bg-sunken">
            <span data-part={block.kind} aria-hidden="true" className="size-2.5 rounded-full" />
            <span className="min-w-0 flex-1 font-medium">
              {BLOCK_NAMES[block.kind]}
              {block.items.length > 1 && <span className="font-normal text-soft"> · {block.items.length}</span>}
            </span>
            <span className="text-soft text-xs tabular-nums">{WHOLE.format(block.tokens)} tokens</span>
            <ChevronRightIcon className="size-4 text-soft transition-transform group-open/block:rotate-90" />
          </summary>
          <ul className="divide-y divide-line border-line border-t">
            {block.items.map((item, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: what was erased has no id, and the order stays.
              <PromptItem key={`${at} ${item.id}`} kind={block.kind} item={item} conversationId={conversationId} />
            ))}
          </ul>
        </details>
      ))}
    </div>
  );
}
