import { findQuote } from "../../state/quotes";

const NAME = "quote";

/**
 * Mark the words of a quote where a message says them, and return how to take the marks away.
 *
 * The page stays as it is: the browser paints ranges, so nothing of the quote becomes part of the document.
 */
export function markQuote(element: HTMLElement, quote: string | null): () => void {
  if (!quote || typeof Highlight === "undefined") return () => undefined;
  const nodes = textsOf(element);
  const ranges = findQuote(nodes.map((node) => node.data).join(""), quote).map(({ from, to }) => {
    const range = document.createRange();
    range.setStart(...placeIn(nodes, from));
    range.setEnd(...placeIn(nodes, to, true));
    return range;
  });
  if (!ranges.length) return () => undefined;
  const mark = new Highlight(...ranges);
  CSS.highlights.set(NAME, mark);
  return () => {
    // Another message may have been marked meanwhile.
    if (CSS.highlights.get(NAME) === mark) CSS.highlights.delete(NAME);
  };
}

function textsOf(element: HTMLElement): Text[] {
  const found: Text[] = [];
  for (const said of element.querySelectorAll("[data-said]")) {
    const walk = document.createTreeWalker(said, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) found.push(walk.currentNode as Text);
  }
  return found;
}

/** Find a place of all texts together in one of them; an end stays in the text that it ends. */
function placeIn(nodes: Text[], at: number, isEnd = false): [Text, number] {
  let left = at;
  for (const node of nodes) {
    if (left < node.length || (isEnd && left === node.length)) return [node, left];
    left -= node.length;
  }
  const last = nodes.at(-1) as Text;
  return [last, last.length];
}
