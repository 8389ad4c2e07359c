import type { Context } from "../../api/types";
import { BLOCK_NAMES, leftOutGroups, sourceOf } from "../../state/promptParts";
import { addressOf } from "../../state/route";

const WHOLE = new Intl.NumberFormat();
const LINKS = 20;

/** What was at hand and is not in the prompt, and why. */
export function LeftOut({ context, conversationId }: { context: Context; conversationId: string }) {
  const groups = leftOutGroups(context.left_out);
  return (
    <section aria-label="Left out">
      <h3 className="mb-1.5 font-medium text-sm">Left out</h3>
      {groups.length === 0 ? (
        <p className="text-soft text-sm">Nothing: all that was at hand is in the prompt.</p>
      ) : (
        <ul className="divide-y divide-line rounded-panel border border-line bg-surface text-sm">
          {groups.map((group) => (
            <li key={`${group.kind} ${group.why}`} className="px-3 py-2">
              <p>
                {BLOCK_NAMES[group.kind]}
                {group.ids.length > 1 && <span className="text-soft"> · {group.ids.length}</span>}
                <span className="float-right text-soft text-xs tabular-nums">{WHOLE.format(group.tokens)} tokens</span>
              </p>
              <p className="text-soft text-xs">{group.why}</p>
              <Links {...group} conversationId={conversationId} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

interface LinksProps {
  kind: Parameters<typeof sourceOf>[0];
  ids: string[];
  conversationId: string;
}

function Links({ kind, ids, conversationId }: LinksProps) {
  const links = ids.slice(0, LINKS).flatMap((id) => {
    const source = sourceOf(kind, { id }, conversationId);
    return source ? [addressOf(source)] : [];
  });
  if (!links.length) return null;
  return (
    <p className="mt-1 flex flex-wrap gap-x-2 gap-y-1 text-xs">
      {links.map((address, at) => (
        <a
          key={address}
          href={address}
          aria-label={`Open ${BLOCK_NAMES[kind].toLowerCase()} ${at + 1}`}
          className="target inline-flex items-center justify-center rounded-control px-1 font-medium text-accent underline underline-offset-2"
        >
          {at + 1}
        </a>
      ))}
      {ids.length > links.length && <span className="text-soft">and {ids.length - links.length} more</span>}
    </p>
  );
}
