import { type MouseEvent, memo } from "react";
import { kept } from "../../markdown/kept";
import { createMarkdown } from "../../markdown/render";

const render = createMarkdown(window);
const renderKept = kept(render, 400);
const COPIED_FOR = 1_500;

interface MarkdownProps {
  text: string;
  /** Whether it is still being written, so that this state of it is not asked for again. */
  isGrowing?: boolean;
}

/** Written text, sanitised; the same text is rendered once. */
export const Markdown = memo(function Markdown({ text, isGrowing = false }: MarkdownProps) {
  const html = isGrowing ? render(text) : renderKept(text);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the click is on a button inside, which the keyboard reaches.
    // biome-ignore lint/a11y/useKeyWithClickEvents: a button turns Enter and Space into clicks.
    // biome-ignore lint/security/noDangerouslySetInnerHtml: `createMarkdown` lets nothing through that runs or loads.
    <div data-said="" className="prose" onClick={copyCode} dangerouslySetInnerHTML={{ __html: html }} />
  );
});

function copyCode(event: MouseEvent<HTMLDivElement>): void {
  const button = event.target instanceof Element ? event.target.closest("button[data-copy]") : null;
  const code = button?.closest(".code-block")?.querySelector("code")?.textContent;
  if (!button || code === undefined || code === null) return;
  navigator.clipboard.writeText(code.replace(/\n$/, "")).then(
    () => say(button, "Copied"),
    () => say(button, "Not copied"),
  );
}

function say(button: Element, text: string): void {
  button.textContent = text;
  setTimeout(() => {
    button.textContent = "Copy";
  }, COPIED_FOR);
}
