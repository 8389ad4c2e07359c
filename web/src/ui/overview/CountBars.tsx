import { useState } from "react";
import { Button } from "../parts/Button";

interface CountBarsProps {
  counts: readonly { name: string; count: number }[];
  /** Says why there are none. */
  empty: string;
}

const SHOWN = 6;
const NUMBERS = new Intl.NumberFormat();

/** How many have each name, the most first; the numbers say it, the bars show it. */
export function CountBars({ counts, empty }: CountBarsProps) {
  const [isAll, setAll] = useState(false);
  const most = Math.max(1, ...counts.map((one) => one.count));
  if (counts.length === 0) return <p className="text-sm text-soft">{empty}</p>;
  return (
    <>
      <ul className="flex flex-col gap-2 text-sm">
        {(isAll ? counts : counts.slice(0, SHOWN)).map(({ name, count }) => (
          <li key={name}>
            <div className="flex justify-between gap-3">
              <span className="min-w-0 [overflow-wrap:anywhere]">{name}</span>
              <span className="tabular-nums">{NUMBERS.format(count)}</span>
            </div>
            <div aria-hidden="true" className="mt-0.5 h-1.5 overflow-hidden rounded-full bg-sunken">
              <div className="h-full rounded-full bg-accent" style={{ width: `${(100 * count) / most}%` }} />
            </div>
          </li>
        ))}
      </ul>
      {counts.length > SHOWN && (
        <Button look="quiet" className="-ml-3 mt-2" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
          {isAll ? "Show fewer" : `Show all ${counts.length}`}
        </Button>
      )}
    </>
  );
}
