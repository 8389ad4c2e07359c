import createDOMPurify, { type WindowLike } from "dompurify";
import { Marked, type Tokens } from "marked";

/**
 * Turn written Markdown into HTML that runs nothing and asks nobody for anything.
 *
 * Two guards, each enough by itself: raw HTML is shown as the text it is, and what is left passes an allow list.
 */
export function createMarkdown(window: WindowLike): (text: string) => string {
  const purify = createDOMPurify(window);
  purify.addHook("afterSanitizeAttributes", (node) => {
    if (node.tagName !== "A") return;
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer nofollow");
  });
  const marked = new Marked({ gfm: true, breaks: true, renderer: RENDERER });
  return (text) => purify.sanitize(marked.parse(text, { async: false }), ALLOWED);
}

const ALLOWED = {
  ALLOWED_TAGS: [
    ..."p br hr em strong del code pre blockquote ul ol li a span div button".split(" "),
    ..."h1 h2 h3 h4 h5 h6 table thead tbody tr th td".split(" "),
  ],
  ALLOWED_ATTR: ["href", "title", "class", "type", "start", "target", "rel", "tabindex", "data-copy"],
  // Links lead to pages and mail, never into scripts or data.
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
  // These are no addresses, and are not held to that.
  ADD_URI_SAFE_ATTR: ["type", "start", "target", "rel", "tabindex", "data-copy"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};

const RENDERER = {
  html: ({ text }: Tokens.HTML | Tokens.Tag) => escaped(text),

  // A remote image would tell its server who reads this, and when.
  image({ href, text }: Tokens.Image): string {
    return `<span class="image-as-text">${escaped(text || "image")} (${escaped(href)})</span>`;
  },

  checkbox: ({ checked }: Tokens.Checkbox) => (checked ? "☑ " : "☐ "),

  code({ text, lang }: Tokens.Code): string {
    const language = escaped((lang ?? "").split(/\s/)[0] ?? "");
    return (
      `<div class="code-block"><div class="code-bar"><span>${language || "text"}</span>` +
      `<button type="button" data-copy="code">Copy</button></div>` +
      `<pre tabindex="0"><code>${escaped(text)}\n</code></pre></div>`
    );
  },
};

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
