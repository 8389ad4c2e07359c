import { type PointerEvent, useMemo, useState } from "react";
import type { MemoryDay } from "../../api/types";
import { barsOf, nameOf, SERIES, type Series, saidOf, spansOf, totalsOf } from "../../state/overviewChart";

const HEIGHT = 100;
const FILLS: Record<Series, string> = {
  learned: "fill-accent",
  superseded: "fill-edge",
  forgotten: "fill-danger",
};
const SWATCHES: Record<Series, string> = { learned: "bg-accent", superseded: "bg-edge", forgotten: "bg-danger" };
const NAMES: Record<Series, string> = { learned: "Learned", superseded: "Superseded", forgotten: "Forgotten" };

/**
 * What became of memories over time.
 *
 * Above the picture lies a slider that is not seen: it gives keys, fingers and screen readers one day after the
 * other. What is chosen is told above.
 */
export function MemoryChart({ days }: { days: readonly MemoryDay[] }) {
  const spans = useMemo(() => spansOf(days), [days]);
  const { bars, line } = useMemo(() => barsOf(spans, HEIGHT), [spans]);
  const [chosen, setChosen] = useState<number | null>(null);
  const span = chosen === null ? undefined : spans[chosen];
  const last = spans.length - 1;
  const shown = span ?? totalsOf(spans);
  const all = spans[0] && spans[last] ? nameOf({ from: spans[0].from, until: spans[last].until }) : "";

  const point = (event: PointerEvent<HTMLElement>) => {
    if (event.pointerType !== "mouse") return;
    const { left, width } = event.currentTarget.getBoundingClientRect();
    setChosen(Math.min(last, Math.max(0, Math.floor(((event.clientX - left) / width) * spans.length))));
  };

  return (
    <div>
      <div className="mb-2 flex flex-wrap items-baseline justify-between gap-x-6 gap-y-1 text-sm">
        <p className="font-medium">{span ? nameOf(span) : all}</p>
        <ul className="flex flex-wrap gap-x-4">
          {SERIES.map((series) => (
            <li key={series} className="flex items-center gap-1.5">
              <span aria-hidden="true" className={`size-2.5 rounded-sm ${SWATCHES[series]}`} />
              {NAMES[series]} <span className="font-semibold tabular-nums">{shown[series]}</span>
            </li>
          ))}
        </ul>
      </div>
      <div
        className="relative h-40 rounded-control has-focus-visible:outline-2 has-focus-visible:outline-accent has-focus-visible:outline-offset-2"
        onPointerMove={point}
        onPointerLeave={() => setChosen(null)}
      >
        <svg
          aria-hidden="true"
          className="absolute inset-0 size-full"
          viewBox={`0 0 ${Math.max(1, spans.length)} ${HEIGHT}`}
          preserveAspectRatio="none"
        >
          {chosen !== null && <rect className="fill-sunken" x={chosen} y={0} width={1} height={HEIGHT} />}
          {bars.map(({ series, ...place }) => (
            <rect key={`${series} ${place.x}`} className={FILLS[series]} {...place} />
          ))}
          <line
            className="stroke-edge"
            vectorEffect="non-scaling-stroke"
            x1={0}
            x2={Math.max(1, spans.length)}
            y1={line}
            y2={line}
          />
        </svg>
        <span aria-hidden="true" className="pointer-events-none absolute top-0 left-0 text-soft text-xs tabular-nums">
          {Math.max(0, ...spans.map((one) => one.learned)) || ""}
        </span>
        <input
          type="range"
          aria-label="Memories by time"
          aria-valuetext={`${nameOf(spans[chosen ?? last] ?? NO_SPAN)}: ${saidOf(spans[chosen ?? last] ?? NO_SPAN)}`}
          min={0}
          max={Math.max(0, last)}
          value={chosen ?? last}
          onChange={(event) => setChosen(Number(event.target.value))}
          onFocus={(event) => event.target.matches(":focus-visible") && setChosen(chosen ?? last)}
          onBlur={() => setChosen(null)}
          className="absolute inset-0 m-0 size-full cursor-crosshair opacity-0"
        />
      </div>
      <div aria-hidden="true" className="mt-1 flex justify-between text-soft text-xs">
        <span>{spans[0] && nameOf({ from: spans[0].from, until: spans[0].from })}</span>
        <span>today</span>
      </div>
    </div>
  );
}

const NO_SPAN = { from: "1970-01-01", until: "1970-01-01", learned: 0, superseded: 0, forgotten: 0 };
