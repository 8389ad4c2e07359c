import type { MemoryDay } from "../api/types";

/** What became of memories in one span of the chart: a day, or a week of a long time. */
export interface Span {
  /** Its first and its last day. */
  from: string;
  until: string;
  learned: number;
  superseded: number;
  forgotten: number;
}

export const SERIES = ["learned", "superseded", "forgotten"] as const;
export type Series = (typeof SERIES)[number];

/** A rectangle of the chart; one span is one wide, and the height is that of the chart. */
export interface Bar {
  series: Series;
  x: number;
  y: number;
  width: number;
  height: number;
}

const MOST_SPANS = 120;
const WEEK = 7;
const GAP = 0.15;

/** Put days together so that no span is too thin to be seen; the last span ends with the last day. */
export function spansOf(days: readonly MemoryDay[]): Span[] {
  const size = days.length > MOST_SPANS ? WEEK : 1;
  const spans: Span[] = [];
  for (let end = days.length; end > 0; end -= size) {
    const part = days.slice(Math.max(0, end - size), end);
    const [first, last] = [part[0], part.at(-1)];
    if (first && last) spans.unshift({ from: first.day, until: last.day, ...totalsOf(part) });
  }
  return spans;
}

/** Add up what became of memories. */
export function totalsOf(spans: readonly Pick<Span, Series>[]): Record<Series, number> {
  const sum = (series: Series) => spans.reduce((total, one) => total + one[series], 0);
  return { learned: sum("learned"), superseded: sum("superseded"), forgotten: sum("forgotten") };
}

/** Draw what came above a line and what went below it, on one scale. */
export function barsOf(spans: readonly Span[], height: number): { bars: Bar[]; line: number } {
  const up = Math.max(0, ...spans.map((one) => one.learned));
  const down = Math.max(0, ...spans.map((one) => one.superseded + one.forgotten));
  const unit = height / (up + down || 1);
  const line = up + down === 0 ? height : up * unit;
  const bars = spans.flatMap((one, at) => {
    const place = { x: at + GAP / 2, width: 1 - GAP };
    const heights = { learned: one.learned * unit, superseded: one.superseded * unit, forgotten: one.forgotten * unit };
    const drawn: Bar[] = [
      { series: "learned", ...place, y: line - heights.learned, height: heights.learned },
      { series: "superseded", ...place, y: line, height: heights.superseded },
      { series: "forgotten", ...place, y: line + heights.superseded, height: heights.forgotten },
    ];
    return drawn.filter((bar) => bar.height > 0);
  });
  return { bars, line };
}

/** Name a span by its days, which are days in UTC. */
export function nameOf({ from, until }: Pick<Span, "from" | "until">, locale?: string): string {
  const format = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeZone: "UTC" });
  const [first, last] = [new Date(`${from}T00:00:00Z`), new Date(`${until}T00:00:00Z`)];
  return from === until ? format.format(first) : format.formatRange(first, last);
}

/** Say what became of memories in words. */
export const saidOf = ({ learned, superseded, forgotten }: Record<Series, number>): string =>
  `${learned} learned, ${superseded} superseded, ${forgotten} forgotten`;
