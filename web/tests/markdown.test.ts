// @vitest-environment jsdom
import { expect, test } from "vitest";
import { blocksOf } from "../src/markdown/blocks";
import { createMarkdown } from "../src/markdown/render";

const render = createMarkdown(window);
const shown = (text: string) => {
  const box = document.createElement("div");
  box.innerHTML = render(text);
  return box;
};

const PAYLOADS = [
  "<script>alert(1)</script>",
  '<img src=x onerror="alert(1)">',
  "<svg onload=alert(1)><animate onbegin=alert(1)>",
  '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
  "<style>@import url(https://evil.example)</style>",
  '<a href="javascript:alert(1)">x</a>',
  "[x](javascript:alert(1))",
  "[x](JaVaScRiPt&colon;alert(1))",
  "[x](data:text/html,<script>alert(1)</script>)",
  "[x](vbscript:msgbox)",
  "![x](https://evil.example/p.png)",
  "![x](javascript:alert(1))",
  '![x](https://evil.example/" onerror="alert(1))',
  '[x](https://ok.example "\\" onmouseover=\\"alert(1)")',
  '```"><img src=x onerror=alert(1)>\ncode\n```',
  "`<img src=x onerror=alert(1)>`",
  "<math><mtext></table><mglyph><style><img src=x onerror=alert(1)>",
  '<form action="https://evil.example"><input name=a><button formaction="javascript:alert(1)">x</button></form>',
  '<div style="background:url(https://evil.example)">x</div>',
  '<link rel=stylesheet href="https://evil.example"><base href="https://evil.example">',
  '<p id="root" class="fixed inset-0">x</p>',
];

test.each(PAYLOADS)("nothing runs and nothing is asked for by %s", (payload) => {
  const box = shown(`before ${payload} after\n\n${payload}`);
  expect(
    box.querySelector("script,img,svg,iframe,style,link,base,form,input,object,embed,video,audio,math"),
  ).toBeNull();
  for (const element of box.querySelectorAll("*")) {
    for (const { name, value } of element.attributes) {
      expect(name).not.toMatch(/^on|^style$|^src|^id$|^formaction$|^action$/);
      if (name === "href") expect(value).toMatch(/^(https?:|mailto:)/);
    }
  }
});

test("raw HTML is shown as what was written", () => {
  expect(shown("a <b>bold</b> word").textContent).toContain("<b>bold</b>");
});

test("an image is shown as its text and its address", () => {
  expect(shown("![a map](https://x.example/map.png)").textContent?.trim()).toBe("a map (https://x.example/map.png)");
});

test("links open elsewhere and tell nothing of this page", () => {
  const link = shown("[text](https://x.example)").querySelector("a");
  expect([link?.target, link?.rel]).toEqual(["_blank", "noopener noreferrer nofollow"]);
});

test("code has its language, a button to copy it, and its own signs", () => {
  const box = shown("```python\nif a < b:\n    pass\n```");
  expect(box.querySelector(".code-bar span")?.textContent).toBe("python");
  expect(box.querySelector("button[data-copy]")?.textContent).toBe("Copy");
  expect(box.querySelector("code")?.textContent).toBe("if a < b:\n    pass\n");
});

test("tables, lists and tasks are kept", () => {
  const box = shown("| a |\n|---|\n| b |\n\n3. three\n\n- [x] done");
  expect([box.querySelector("td")?.textContent, box.querySelector("ol")?.start]).toEqual(["b", 3]);
  expect(box.textContent).toContain("☑ done");
});

test("text that is being written is cut at blank lines, but not within code or a list", () => {
  expect(blocksOf("one\n\ntwo\nmore\n\n")).toEqual(["one\n", "two\nmore\n\n"]);
  expect(blocksOf("```\na\n\nb\n```\n\nafter")).toEqual(["```\na\n\nb\n```\n", "after"]);
  expect(blocksOf("- a\n\n  still a\n\nafter")).toEqual(["- a\n\n  still a\n", "after"]);
  expect(blocksOf("text\n\n```js\nlet a;\n\nlet b")).toEqual(["text\n", "```js\nlet a;\n\nlet b"]);
  expect(blocksOf("")).toEqual([""]);
});

test("cutting loses nothing", () => {
  const text = "# a\n\n~~~\n```\n\n~~~\n\n1. x\n\n2. y\n\n> q\n\nend";
  expect(blocksOf(text).join("\n")).toBe(text);
});
