import { useDeferredValue, useMemo } from "react";
import type { MemoryUsed, ToolCall } from "../../api/types";
import { useApp, useStoreOf } from "../../app/AppContext";
import { blocksOf } from "../../markdown/blocks";
import { Markdown } from "./Markdown";
import { MemoriesUsed } from "./MemoriesUsed";
import { ToolCalls } from "./ToolCalls";

const NO_CALLS: ToolCall[] = [];
const NO_MEMORIES: MemoryUsed[] = [];

/** A reply while it is written; typing goes before showing its newest words. */
export function DraftReply() {
  const { conversation } = useApp();
  const text = useDeferredValue(useStoreOf(conversation.store, (state) => state.draft?.text ?? ""));
  const blocks = useMemo(() => blocksOf(text), [text]);
  const calls = useStoreOf(conversation.store, (state) => state.draft?.toolCalls ?? NO_CALLS);
  const memories = useStoreOf(conversation.store, (state) => state.draft?.memories ?? NO_MEMORIES);
  return (
    <article aria-label="Assistant" aria-busy="true" className="pb-4">
      <ToolCalls calls={calls} />
      {text ? (
        <div className="flex flex-col gap-3">
          {blocks.map((block, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: blocks are only ever added at the end.
            <Markdown key={at} text={block} isGrowing={at === blocks.length - 1} />
          ))}
        </div>
      ) : (
        <div className="pulses flex gap-1.5 py-2" aria-hidden="true">
          <span className="size-2 rounded-full bg-edge" />
          <span className="size-2 rounded-full bg-edge" />
          <span className="size-2 rounded-full bg-edge" />
        </div>
      )}
      <MemoriesUsed memories={memories} />
    </article>
  );
}
