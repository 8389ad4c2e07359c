import type { Context } from "../../api/types";
import { BLOCK_NAMES, sharesOf } from "../../state/promptParts";

const WHOLE = new Intl.NumberFormat();

/** What the prompt takes of its budget, and each block of the prompt; the blocks below tell the same in words. */
export function TokenBar({ context }: { context: Context }) {
  const shares = sharesOf(context);
  const told = shares.map((one) => `${BLOCK_NAMES[one.kind]} ${WHOLE.format(one.tokens)}`);
  const isOver = context.tokens > context.budget;
  return (
    <div>
      <p className="mb-1.5 flex items-baseline justify-between gap-3 text-sm">
        <span>
          <strong className="font-semibold tabular-nums">{WHOLE.format(context.tokens)}</strong>
          <span className="text-soft"> of {WHOLE.format(context.budget)} tokens</span>
        </span>
        <span className={`text-xs tabular-nums ${isOver ? "text-danger" : "text-soft"}`}>
          {isOver ? "over the budget" : `${Math.round((context.tokens / Math.max(context.budget, 1)) * 100)} %`}
        </span>
      </p>
      <div
        role="img"
        aria-label={`Tokens: ${told.join(", ")}`}
        className="flex h-3 gap-px overflow-hidden rounded-full border border-line bg-sunken"
      >
        {shares.map((one) => (
          <span key={one.kind} data-part={one.kind} style={{ width: `${one.percent}%` }} />
        ))}
      </div>
    </div>
  );
}
