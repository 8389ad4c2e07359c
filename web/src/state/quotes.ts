/** A part of a text. */
export interface Span {
  from: number;
  to: number;
}

/** What Markdown is written with and a reader does not see. */
const MARKS = /[*_`~#>[\]|\\]/;
const SHORTEST = 2;

/**
 * Find the words of a quote in a text as it is shown.
 *
 * A quote is taken from what was written, with its marks and line breaks, so neither counts, nor does case.
 * If the words do not stand there together, each of them is found by itself.
 */
export function findQuote(text: string, quote: string): Span[] {
  const shown = plain(text);
  const whole = plain(quote).text.trim();
  if (!whole) return [];
  const at = shown.text.indexOf(whole);
  if (at >= 0) return [spanOf(shown.places, at, whole.length)];
  const words = new Set(whole.split(" ").filter((word) => word.length >= SHORTEST));
  return [...words].flatMap((word) =>
    occurrences(shown.text, word).map((from) => spanOf(shown.places, from, word.length)),
  );
}

/** A text without marks, in small letters, with single spaces; and where each of its letters stood. */
function plain(text: string): { text: string; places: number[] } {
  const letters: string[] = [];
  const places: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const letter = text[at] as string;
    if (MARKS.test(letter)) continue;
    const isSpace = /\s/.test(letter);
    if (isSpace && letters.at(-1) === " ") continue;
    const small = letter.toLowerCase();
    // A letter whose small form is longer would move all that follow.
    letters.push(isSpace ? " " : small.length === 1 ? small : letter);
    places.push(at);
  }
  return { text: letters.join(""), places };
}

function spanOf(places: number[], at: number, length: number): Span {
  return { from: places[at] ?? 0, to: (places[at + length - 1] ?? 0) + 1 };
}

function occurrences(text: string, word: string): number[] {
  const found: number[] = [];
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) found.push(at);
  return found;
}
