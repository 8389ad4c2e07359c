/** A line of two texts that are compared. */
export interface DiffLine {
  kind: "same" | "added" | "removed";
  text: string;
}

/** Lines that are shown, and how many that both texts have are left out before them. */
export interface Hunk {
  skipped: number;
  lines: DiffLine[];
}

/** Comparing takes one cell for each pair of lines; beyond this many, what differs counts as written anew. */
const MOST_CELLS = 4_000_000;
const CONTEXT = 2;

/** Split a text into lines; the empty text has none. */
export const linesOf = (text: string): string[] => (text === "" ? [] : text.split("\n"));

/**
 * Find a longest common subsequence: for each line of one text, where it is in the other, or -1.
 *
 * What both begin and end with is taken first, since changes are mostly few and small.
 */
export function matches(one: readonly string[], other: readonly string[]): number[] {
  const found = new Array<number>(one.length).fill(-1);
  const shorter = Math.min(one.length, other.length);
  let start = 0;
  while (start < shorter && one[start] === other[start]) {
    found[start] = start;
    start++;
  }
  let ending = 0;
  while (ending < shorter - start && one[one.length - 1 - ending] === other[other.length - 1 - ending]) {
    found[one.length - 1 - ending] = other.length - 1 - ending;
    ending++;
  }
  const middle = longestCommon(one.slice(start, one.length - ending), other.slice(start, other.length - ending));
  for (const [here, there] of middle) found[start + here] = start + there;
  return found;
}

function longestCommon(one: readonly string[], other: readonly string[]): [number, number][] {
  const width = other.length + 1;
  if (one.length * other.length > MOST_CELLS) return [];
  // Cell (i, j) is the length of what one[i..] and other[j..] have in common.
  const lengths = new Uint32Array((one.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = other.length - 1; j >= 0; j--) {
      lengths[i * width + j] = one[i] === other[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const pairs: [number, number][] = [];
  let i = 0;
  let j = 0;
  while (i < one.length && j < other.length) {
    if (one[i] === other[j]) pairs.push([i++, j++]);
    else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return pairs;
}

/** Compare two texts line by line; where both differ, what is gone comes before what is new. */
export function lineDiff(before: string, after: string): DiffLine[] {
  const old = linesOf(before);
  const now = linesOf(after);
  const lines: DiffLine[] = [];
  let next = 0;
  const add = (until: number) => {
    while (next < until) lines.push({ kind: "added", text: now[next++] ?? "" });
  };
  const places = matches(old, now);
  old.forEach((text, at) => {
    const place = places[at] ?? -1;
    if (place < 0) {
      lines.push({ kind: "removed", text });
      return;
    }
    add(place);
    lines.push({ kind: "same", text });
    next = place + 1;
  });
  add(now.length);
  return lines;
}

/** Keep what changed and a little around it; what is left out at the end is a hunk without lines. */
export function hunksOf(lines: readonly DiffLine[], context = CONTEXT): Hunk[] {
  const isShown = new Array<boolean>(lines.length).fill(false);
  lines.forEach((line, at) => {
    if (line.kind !== "same") isShown.fill(true, Math.max(0, at - context), at + context + 1);
  });
  const hunks: Hunk[] = [];
  let skipped = 0;
  lines.forEach((line, at) => {
    if (!isShown[at]) {
      skipped++;
      return;
    }
    if (at === 0 || !isShown[at - 1]) {
      hunks.push({ skipped, lines: [] });
      skipped = 0;
    }
    hunks.at(-1)?.lines.push(line);
  });
  if (skipped) hunks.push({ skipped, lines: [] });
  return hunks;
}

/** Count the lines that came and went. */
export function sizeOf(lines: readonly DiffLine[]): { added: number; removed: number } {
  const count = (kind: DiffLine["kind"]) => lines.filter((line) => line.kind === kind).length;
  return { added: count("added"), removed: count("removed") };
}
