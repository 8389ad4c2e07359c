import type { MemoryDay } from "../../api/types";
import { nameOf, SERIES, saidOf, totalsOf } from "../../state/overviewChart";

/** The chart as a table, for whoever reads numbers rather than bars. */
export function MemoryTable({ days }: { days: readonly MemoryDay[] }) {
  const busy = days.filter((day) => SERIES.some((series) => day[series] > 0)).reverse();
  return (
    <details className="mt-3 text-sm">
      <summary className="min-h-6 py-1 text-soft hover:text-ink pointer-coarse:min-h-11">As a table</summary>
      {busy.length === 0 ? (
        <p className="text-soft">Nothing was learned, superseded or forgotten in this time.</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
        <section aria-label="Memories by day" tabIndex={0} className="mt-1 max-h-72 overflow-y-auto">
          <table className="w-full text-left tabular-nums">
            <caption className="pb-1 text-left text-soft text-xs">
              In all {saidOf(totalsOf(days))}. Days are in UTC; those without a change are left out.
            </caption>
            <thead className="sticky top-0 bg-surface">
              <tr className="border-line border-b">
                <th className="py-1 font-medium">Day</th>
                <th className="py-1 text-right font-medium">Learned</th>
                <th className="py-1 text-right font-medium">Superseded</th>
                <th className="py-1 text-right font-medium">Forgotten</th>
              </tr>
            </thead>
            <tbody>
              {busy.map((day) => (
                <tr key={day.day} className="border-line border-b last:border-b-0">
                  <th scope="row" className="py-1 font-normal">
                    {nameOf({ from: day.day, until: day.day })}
                  </th>
                  {SERIES.map((series) => (
                    <td key={series} className="py-1 text-right">
                      {day[series]}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </details>
  );
}
