import { expect, test } from "vitest";
import type { Message } from "../src/api/types";
import { rowsOf } from "../src/state/messageRows";
import { suggestionsOf } from "../src/state/suggestions";

const message = (id: string, role: Message["role"] = "user") => ({ id, role, content: id }) as Message;
const MESSAGES = [message("a"), message("b", "assistant"), message("t", "tool"), message("s", "summary"), message("c")];
const NOTHING = { messages: MESSAGES, pending: null, newer: null, hasDraft: false, draftId: null };
const kinds = (rows: ReturnType<typeof rowsOf>) => rows.map((row) => `${row.kind} ${row.key}`);

test("outputs of tools have no row of their own, summaries have one", () => {
  expect(kinds(rowsOf(NOTHING))).toEqual(["message a", "message b", "summary summary s", "message c"]);
});

test("what is being sent and written comes last", () => {
  const rows = rowsOf({ ...NOTHING, pending: { key: "k", text: "Hi", problem: null }, hasDraft: true });
  expect(kinds(rows).slice(-2)).toEqual(["pending pending", "draft draft"]);
});

test("once a reply is stored it is not shown twice", () => {
  const messages = [...MESSAGES, message("r", "assistant")];
  const rows = rowsOf({
    ...NOTHING,
    messages,
    pending: { key: "k", text: "c", problem: null },
    hasDraft: true,
    draftId: "r",
  });
  expect(kinds(rows).slice(-2)).toEqual(["message c", "message r"]);
});

test("a branch hides what follows the place where it begins, until it is stored", () => {
  const branch = (after: string | null) =>
    rowsOf({ ...NOTHING, hasDraft: true, pending: { key: "k", text: "x", after, problem: null } });
  expect(kinds(branch("a"))).toEqual(["message a", "pending pending", "draft draft"]);
  expect(kinds(branch(null))).toEqual(["pending pending", "draft draft"]);
  expect(kinds(branch("not read yet")).length).toBe(6);
});

test("what is being said is not shown far above the end", () => {
  const pending = { key: "k", text: "Hi", problem: null };
  expect(kinds(rowsOf({ ...NOTHING, newer: "c", pending, hasDraft: true })).at(-1)).toBe("message c");
});

test("answering again says nothing anew", () => {
  expect(
    kinds(rowsOf({ ...NOTHING, hasDraft: true, pending: { key: "k", text: "", after: "a", problem: null } })),
  ).toEqual(["message a", "draft draft"]);
});

test("suggestions are read as they come", () => {
  expect(
    suggestionsOf(["Yes", 3, { label: "No", value: "no thanks" }, { title: "Maybe" }, {}, null, { label: "" }]),
  ).toEqual([
    { label: "Yes", text: "Yes" },
    { label: "3", text: "3" },
    { label: "No", text: "no thanks" },
    { label: "Maybe", text: "Maybe" },
  ]);
  for (const odd of [null, undefined, "text", { a: 1 }, 7]) expect(suggestionsOf(odd)).toEqual([]);
});
