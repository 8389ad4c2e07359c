/** A piece of a text, and whether it is one of the words that were looked for. */
export interface Piece {
  text: string;
  isFound: boolean;
  /** Where it begins. */
  at: number;
}

/** Cut a text where the words of a search stand in it, without regard to case. */
export function foundWords(text: string, query: string): Piece[] {
  const words = query
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (!words.length) return [{ text, isFound: false, at: 0 }];
  const pieces: Piece[] = [];
  let at = 0;
  for (const match of text.matchAll(new RegExp(words.join("|"), "giu"))) {
    if (match.index > at) pieces.push({ text: text.slice(at, match.index), isFound: false, at });
    pieces.push({ text: match[0], isFound: true, at: match.index });
    at = match.index + match[0].length;
  }
  if (at < text.length) pieces.push({ text: text.slice(at), isFound: false, at });
  return pieces;
}
