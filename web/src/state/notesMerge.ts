import { linesOf, matches } from "./notesDiff";

/** What the two sides made of a part of the text on which they do not agree. */
export interface Dispute {
  mine: string[];
  theirs: string[];
}

/** A part of a merged text: lines that nobody disputes, or a dispute. */
export type Piece = { lines: string[] } | { dispute: Dispute };

export type Choice = "mine" | "theirs" | "both";

/** Join two texts that were both made of a third; a part that both changed, each in their way, is a dispute. */
export function merge(base: string, mine: string, theirs: string): Piece[] {
  const from = linesOf(base);
  const my = linesOf(mine);
  const their = linesOf(theirs);
  const inMine = matches(from, my);
  const inTheirs = matches(from, their);
  const pieces: Piece[] = [];
  const at = { base: 0, mine: 0, theirs: 0 };

  // What lies between two lines that all three have.
  const takeUntil = (base: number, mine: number, theirs: number) => {
    const part = decided(from.slice(at.base, base), my.slice(at.mine, mine), their.slice(at.theirs, theirs));
    if (part) pieces.push(part);
    Object.assign(at, { base, mine, theirs });
  };
  from.forEach((line, place) => {
    const here = inMine[place] ?? -1;
    const there = inTheirs[place] ?? -1;
    if (here < 0 || there < 0) return;
    takeUntil(place, here, there);
    pieces.push({ lines: [line] });
    Object.assign(at, { base: place + 1, mine: here + 1, theirs: there + 1 });
  });
  takeUntil(from.length, my.length, their.length);
  return pieces;
}

function decided(base: string[], mine: string[], theirs: string[]): Piece | null {
  if (isSame(mine, theirs) || isSame(base, theirs)) return mine.length ? { lines: mine } : null;
  if (isSame(base, mine)) return theirs.length ? { lines: theirs } : null;
  return { dispute: { mine, theirs } };
}

const isSame = (one: string[], other: string[]) =>
  one.length === other.length && one.every((line, at) => line === other[at]);

export const disputesIn = (pieces: readonly Piece[]): Dispute[] =>
  pieces.flatMap((piece) => ("dispute" in piece ? [piece.dispute] : []));

/** Write the merged text with a choice for each dispute, in their order; both is theirs and then mine. */
export function settled(pieces: readonly Piece[], choices: readonly Choice[]): string {
  let next = 0;
  return pieces
    .flatMap((piece) => {
      if (!("dispute" in piece)) return piece.lines;
      const { mine, theirs } = piece.dispute;
      const choice = choices[next++] ?? "both";
      return choice === "mine" ? mine : choice === "theirs" ? theirs : [...theirs, ...mine];
    })
    .join("\n");
}
