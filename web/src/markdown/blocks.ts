const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/**
 * Cut Markdown that is still being written into blocks at its blank lines.
 *
 * All but the last no longer change, so only the last is rendered again for each piece of text that comes.
 */
export function blocksOf(text: string): string[] {
  const blocks: string[] = [];
  let lines: string[] = [];
  let fence: string | null = null;
  for (const line of text.split("\n")) {
    const mark = FENCE.exec(line)?.[1];
    if (mark && fence === null) fence = mark;
    else if (mark && fence !== null && mark.startsWith(fence)) fence = null;
    // What is indented may go on with the list above it.
    if (fence === null && line.trim() === "" && lines.length) {
      lines.push(line);
      continue;
    }
    const isAfterBlank = lines.at(-1)?.trim() === "";
    if (fence === (mark ?? null) && isAfterBlank && !/^\s/.test(line)) {
      blocks.push(lines.join("\n"));
      lines = [];
    }
    lines.push(line);
  }
  if (lines.length) blocks.push(lines.join("\n"));
  return blocks;
}
