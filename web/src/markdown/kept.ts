/**
 * Keep what a costly function gave for the texts that were asked for last.
 *
 * Rows of a long conversation come and go while it is scrolled, and each time ask for the same again.
 */
export function kept(make: (text: string) => string, atMost: number): (text: string) => string {
  const known = new Map<string, string>();
  return (text) => {
    const made = known.get(text) ?? make(text);
    // What is asked for again moves to the end; what is at the beginning goes first.
    known.delete(text);
    known.set(text, made);
    if (known.size > atMost) known.delete(known.keys().next().value as string);
    return made;
  };
}
