import type { Overview } from "../../api/types";

const NUMBERS = new Intl.NumberFormat();

/** The figures that matter most, each with what it counts. */
export function Figures({ overview }: { overview: Overview }) {
  const { conversations, memories, messages } = overview;
  const { by_state: states } = memories;
  const figures = [
    { name: "Memories", count: states.active, more: `${NUMBERS.format(states.superseded)} superseded` },
    { name: "Waiting for review", count: states.pending, more: `${NUMBERS.format(states.rejected)} rejected` },
    { name: "Archived", count: states.archived, more: "not recalled" },
    { name: "Conversations", count: conversations.total, more: `${NUMBERS.format(conversations.archived)} archived` },
    { name: "Messages", count: messages, more: "on all branches" },
  ];
  return (
    <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-panel border border-line bg-line sm:grid-cols-5">
      {figures.map((one) => (
        <div key={one.name} className="flex flex-col bg-surface px-4 py-3 last:col-span-2 sm:last:col-span-1">
          <dt className="text-soft text-xs">{one.name}</dt>
          <dd className="flex flex-col">
            <span className="font-semibold text-2xl tabular-nums leading-tight">{NUMBERS.format(one.count)}</span>
            <span className="text-soft text-xs">{one.more}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}
