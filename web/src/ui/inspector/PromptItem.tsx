import { useState } from "react";
import type { Context } from "../../api/types";
import { type BlockKind, sourceOf } from "../../state/promptParts";
import { addressOf } from "../../state/route";

type Item = Context["blocks"][number]["items"][number];

const WHOLE = new Intl.NumberFormat();
const SHORT = 260;

interface PromptItemProps {
  kind: BlockKind;
  item: Item;
  conversationId: string;
}

/** One thing that the model was told: its words, what they cost, and why they were there. */
export function PromptItem({ kind, item, conversationId }: PromptItemProps) {
  const [isWhole, setWhole] = useState(false);
  const source = item.state === "erased" ? null : sourceOf(kind, item, conversationId);
  const isLong = item.text.length > SHORT;
  return (
    <li className="px-3 py-2.5">
      {item.state === "erased" ? (
        <p className="text-soft text-sm italic">Erased since; its words are gone.</p>
      ) : (
        <p className="whitespace-pre-wrap break-words text-sm">
          {isLong && !isWhole ? `${item.text.slice(0, SHORT).trimEnd()}…` : item.text}
        </p>
      )}
      {item.state === "changed" && <p className="mt-1 text-soft text-xs">Changed since; this is how it reads now.</p>}
      <p className="mt-1 text-soft text-xs">
        <span className="tabular-nums">{WHOLE.format(item.tokens)} tokens</span>
        {item.why && ` · ${item.why}`}
      </p>
      {(source || (isLong && item.state !== "erased")) && (
        <p className="mt-1 flex gap-3 text-xs">
          {isLong && item.state !== "erased" && (
            <button type="button" aria-expanded={isWhole} className={LINK} onClick={() => setWhole(!isWhole)}>
              {isWhole ? "Show less" : "Show all"}
            </button>
          )}
          {source && (
            <a href={addressOf(source)} className={LINK}>
              {SOURCES[source.page] ?? "Open"}
            </a>
          )}
        </p>
      )}
    </li>
  );
}

const SOURCES: Record<string, string> = { memories: "Open the memory", conversation: "Go to the message" };
const LINK = "target inline-flex items-center rounded-control font-medium text-accent underline underline-offset-2";
