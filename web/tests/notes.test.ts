import { expect, test } from "vitest";
import { Client } from "../src/api/client";
import type { Note } from "../src/api/types";
import { createDrafts, type Drafts } from "../src/state/drafts";
import { hunksOf, lineDiff, matches, sizeOf } from "../src/state/notesDiff";
import { createNotesEditing, isChanged, type Saved, textOf } from "../src/state/notesEditing";
import { disputesIn, merge, settled } from "../src/state/notesMerge";
import { sectionsOf, withNewSection, withSection, withTitle } from "../src/state/notesSections";
import { json, lost, PlayedServer, problem } from "./server";

const signs = (before: string, after: string) =>
  lineDiff(before, after).map(({ kind, text }) => `${kind === "same" ? " " : kind === "added" ? "+" : "-"}${text}`);

test("a diff keeps what both have and says what came and went", () => {
  expect(signs("a\nb\nc\nd", "a\nc\nx\nd")).toEqual([" a", "-b", " c", "+x", " d"]);
  expect(signs("", "a\nb")).toEqual(["+a", "+b"]);
  expect(signs("a\nb", "")).toEqual(["-a", "-b"]);
  expect(signs("same", "same")).toEqual([" same"]);
  expect(signs("", "")).toEqual([]);
  expect(sizeOf(lineDiff("a\nb\nc", "a\nx\ny\nc"))).toEqual({ added: 2, removed: 1 });
});

test("whatever is compared, a diff gives both texts back and nothing common is longer", () => {
  let seed = 7;
  const random = (most: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % most;
  };
  const text = () => Array.from({ length: random(9) }, () => "abc"[random(3)] ?? "");
  for (let round = 0; round < 300; round++) {
    const one = text();
    const other = text();
    const lines = lineDiff(one.join("\n"), other.join("\n"));
    const without = (kind: string) => lines.filter((line) => line.kind !== kind).map((line) => line.text);
    // No lines and one empty line are the same text.
    expect(without("added").join("\n")).toBe(one.join("\n"));
    expect(without("removed").join("\n")).toBe(other.join("\n"));
    const common = matches(one, other).filter((place) => place >= 0);
    expect(common).toEqual([...common].sort((a, b) => a - b));
    expect(common.length).toBe(longest(one, other));
  }
});

/** The length of the longest common subsequence, by trying everything. */
function longest(one: string[], other: string[]): number {
  const [head, ...rest] = one;
  if (head === undefined || other.length === 0) return 0;
  const place = other.indexOf(head);
  const taken = place < 0 ? 0 : 1 + longest(rest, other.slice(place + 1));
  return Math.max(taken, longest(rest, other));
}

test("texts too large to compare line by line are told as written anew between what both begin and end with", () => {
  const many = (word: string) => Array.from({ length: 2_100 }, (_, at) => `${word}${at}`).join("\n");
  const lines = lineDiff(`first\n${many("a")}\nlast`, `first\n${many("b")}\nlast`);
  expect(sizeOf(lines)).toEqual({ added: 2_100, removed: 2_100 });
  expect(lines.filter((line) => line.kind === "same").map((line) => line.text)).toEqual(["first", "last"]);
});

test("only what changed and a little around it is shown", () => {
  const before = Array.from({ length: 20 }, (_, at) => `line ${at}`);
  const after = before.map((line, at) => (at === 10 ? "changed" : line));
  const hunks = hunksOf(lineDiff(before.join("\n"), after.join("\n")));
  expect(hunks.map(({ skipped, lines }) => [skipped, lines.length])).toEqual([
    [8, 6],
    [7, 0],
  ]);
  expect(hunksOf(lineDiff("a", "a"))).toEqual([{ skipped: 1, lines: [] }]);
  expect(hunksOf([])).toEqual([]);
});

test("changes in different places are joined without asking", () => {
  const pieces = merge("a\nb\nc\nd\n", "a\nB\nc\nd\n", "a\nb\nc\nd\ne\n");
  expect(disputesIn(pieces)).toEqual([]);
  expect(settled(pieces, [])).toBe("a\nB\nc\nd\ne\n");
});

test("the same change on both sides is one change, and what only one side deleted is gone", () => {
  expect(settled(merge("a\nb\nc", "a\nx\nc", "a\nx\nc"), [])).toBe("a\nx\nc");
  expect(settled(merge("a\nb\nc", "a\nc", "a\nb\nc"), [])).toBe("a\nc");
  expect(settled(merge("", "mine", ""), [])).toBe("mine");
  expect(settled(merge("all", "", "all"), [])).toBe("");
});

test("where both sides changed the same lines the user decides, for each place apart", () => {
  const pieces = merge("1\nx\n2\ny\n3", "1\nmine\n2\nmine too\n3", "1\ntheirs\n2\ntheirs too\n3");
  expect(disputesIn(pieces)).toEqual([
    { mine: ["mine"], theirs: ["theirs"] },
    { mine: ["mine too"], theirs: ["theirs too"] },
  ]);
  expect(settled(pieces, ["mine", "theirs"])).toBe("1\nmine\n2\ntheirs too\n3");
  expect(settled(pieces, ["both", "mine"])).toBe("1\ntheirs\nmine\n2\nmine too\n3");
});

const TEXT = "About Ada\n# Food\nlikes rice\n## Tea #\ngreen\n```\n# no header\n```\n# C#\nknows it\n";

test("sections are found as the server finds them", () => {
  const sections = sectionsOf(TEXT);
  expect(sections.map(({ title, depth, body }) => [title, depth, body])).toEqual([
    [null, 0, "About Ada\n"],
    ["Food", 0, "likes rice\n"],
    ["Tea", 1, "green\n```\n# no header\n```\n"],
    ["C#", 0, "knows it\n"],
  ]);
  expect(sections.map(({ start, end }) => TEXT.slice(start, end).split("\n").length - 1)).toEqual([1, 7, 5, 2]);
  expect(sectionsOf("")).toEqual([]);
  expect(sectionsOf("plain").map(({ title, end }) => [title, end])).toEqual([[null, 5]]);
  expect(sectionsOf("### Deep\n# Top").map(({ depth }) => depth)).toEqual([0, 0]);
});

test("a section is replaced, renamed, deleted and added without touching the others", () => {
  const [, food, tea, last] = sectionsOf(TEXT);
  if (!food || !tea || !last) throw new Error("sections are missing");
  expect(withSection(TEXT, tea, "## Tea\nblack")).toBe(
    "About Ada\n# Food\nlikes rice\n## Tea\nblack\n# C#\nknows it\n",
  );
  expect(withSection(TEXT, food, "")).toBe("About Ada\n# C#\nknows it\n");
  expect(withTitle(TEXT, last, " $& and\nmore ")).toContain("# $& and more\nknows it\n");
  expect(withNewSection("a", "T", "b")).toBe("a\n\n# T\nb\n");
  expect(withNewSection("", "T", "")).toBe("# T\n");
});

const note = (notes: string, version: number): Note => ({
  agent: "assistant",
  notes,
  version,
  created_at: null,
  updated_at: null,
});

function editing(server: PlayedServer, drafts: Pick<Drafts, "get" | "set"> = createDrafts(null)) {
  const saved: Saved[] = [];
  const parts = { client: new Client(server.fetch), drafts, onSaved: (one: Saved) => saved.push(one) };
  return { ...createNotesEditing(parts), saved };
}

const POST = /POST \/api\/notes\/operations/;
const GET = /GET \/api\/notes$/;
const sent = (server: PlayedServer) =>
  server.seen.filter((one) => one.method === "POST").map((one) => [one.headers["If-Match"], one.body]);

test("an edit of a section is saved onto the version it was made from", async () => {
  const server = new PlayedServer().on(POST, json(note("# A\nnew\n# B\n", 4)));
  const notes = editing(server);
  notes.begin({ kind: "section", at: 0 }, note("# A\nold\n# B\n", 3));
  notes.type({ text: "# A\nnew\n" });
  await notes.save();
  expect(sent(server)).toEqual([['"3"', { operation: "overwrite", content: "# A\nnew\n# B\n" }]]);
  expect(notes.store.getState().edit).toBeNull();
  expect(notes.saved[0]).toMatchObject({ before: "# A\nold\n# B\n", isMerged: false, isRedacted: false });
});

test("what somebody else wrote elsewhere meanwhile is joined", async () => {
  const server = new PlayedServer()
    .on(POST, problem(412, "stale_version"), json(note("# A\nmine\n# B\ntheirs\n", 5)))
    .on(GET, json(note("# A\n1\n# B\ntheirs\n", 4)));
  const notes = editing(server);
  notes.begin({ kind: "section", at: 0 }, note("# A\n1\n# B\n2\n", 3));
  notes.type({ text: "# A\nmine\n" });
  await notes.save();
  expect(sent(server)[1]).toEqual(['"4"', { operation: "overwrite", content: "# A\nmine\n# B\ntheirs\n" }]);
  expect(notes.saved[0]?.isMerged).toBe(true);
});

test("a conflict keeps what was typed until the user decides", async () => {
  const server = new PlayedServer()
    .on(POST, problem(412, "stale_version"), json(note("# A\ntheirs\nmine\n", 5)))
    .on(GET, json(note("# A\ntheirs\n", 4)));
  const notes = editing(server);
  notes.begin({ kind: "all" }, note("# A\n1\n", 3));
  notes.type({ text: "# A\nmine\n" });
  await notes.save();
  expect(notes.saved).toEqual([]);
  expect(notes.store.getState().edit?.text).toBe("# A\nmine\n");
  expect(disputesIn(notes.store.getState().dispute?.pieces ?? [])).toEqual([{ mine: ["mine"], theirs: ["theirs"] }]);
  notes.reconsider();
  expect(notes.store.getState()).toMatchObject({ dispute: null, edit: { text: "# A\nmine\n" } });
  server.on(POST, problem(412, "stale_version"), json(note("# A\ntheirs\nmine\n", 5)));
  await notes.save();
  await notes.settle(["both"]);
  expect(sent(server).at(-1)).toEqual(['"4"', { operation: "overwrite", content: "# A\ntheirs\nmine\n" }]);
  expect(notes.store.getState()).toMatchObject({ edit: null, dispute: null });
});

test("a server that is away loses nothing, and the same save works later", async () => {
  const server = new PlayedServer().on(POST, lost(), json(note("typed", 1)));
  const notes = editing(server);
  notes.begin({ kind: "all" }, note("", 0));
  notes.type({ text: "typed" });
  await notes.save();
  expect(notes.store.getState()).toMatchObject({
    edit: { text: "typed" },
    isSaving: false,
    problem: "The server cannot be reached.",
  });
  await notes.save();
  expect(notes.saved.map((one) => one.note.version)).toEqual([1]);
});

test("what was typed is there again on the next page, until it is dropped, and then it can be brought back", () => {
  const kept = new Map<string, string>();
  const storage = {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, text: string) => void kept.set(name, text),
    removeItem: (name: string) => void kept.delete(name),
  };
  const first = editing(new PlayedServer(), createDrafts(storage));
  first.begin({ kind: "new" }, note("a", 1));
  first.type({ title: "Tea" });
  const second = editing(new PlayedServer(), createDrafts(storage));
  const { edit } = second.store.getState();
  expect(edit).toMatchObject({ title: "Tea", base: { version: 1 } });
  const dropped = second.drop();
  expect(kept.size).toBe(0);
  if (dropped) second.resume(dropped);
  expect(second.store.getState().edit).toEqual(edit);
  expect(editing(new PlayedServer(), { get: () => "{broken", set: () => undefined }).store.getState().edit).toBeNull();
});

test("an edit that changes nothing asks the server nothing and is lost to nobody", async () => {
  const server = new PlayedServer();
  const notes = editing(server);
  notes.begin({ kind: "section", at: 0 }, note("# A\n", 1));
  const { edit } = notes.store.getState();
  expect(edit && isChanged(edit)).toBe(false);
  await notes.save();
  notes.begin({ kind: "new" }, note("# A\n", 1));
  expect(notes.drop()).toBeNull();
  expect(server.seen).toEqual([]);
});

test("a deletion that disagrees with what came meanwhile waits for a decision", async () => {
  const server = new PlayedServer()
    .on(POST, problem(412, "stale_version"))
    .on(GET, json(note("# A\nchanged\n# B\n", 4)));
  const notes = editing(server);
  await notes.change(note("# A\n1\n# B\n", 3), "# B\n");
  const { edit, dispute } = notes.store.getState();
  expect(edit && textOf(edit)).toBe("# B\n");
  expect(disputesIn(dispute?.pieces ?? [])).toEqual([{ mine: [], theirs: ["# A", "changed"] }]);
});

test("what the server took out is told", async () => {
  const server = new PlayedServer().on(POST, json(note("[redacted]", 1)));
  const notes = editing(server);
  await notes.change(note("", 0), "sk-secret");
  expect(notes.saved[0]?.isRedacted).toBe(true);
});
