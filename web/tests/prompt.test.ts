import { expect, test } from "vitest";
import type { Context } from "../src/api/types";
import { createInspector } from "../src/state/inspector";
import { leftOutGroups, promptText, sharesOf, sourceOf } from "../src/state/promptParts";

const block = (kind: string, tokens: number) => ({ kind, tokens, items: [] });
const context = (...blocks: ReturnType<typeof block>[]) => ({ blocks }) as unknown as Context;

test("a prompt is shared out among its blocks, and an empty block has no share", () => {
  expect(sharesOf(context(block("system", 50), block("notes", 0), block("window", 150)))).toEqual([
    { kind: "system", tokens: 50, percent: 25 },
    { kind: "window", tokens: 150, percent: 75 },
  ]);
  expect(sharesOf(context())).toEqual([]);
});

test("a prompt is written with who says what, and which tools are called", () => {
  const told = {
    prompt: "Be kind.",
    messages: [
      { role: "user", text: "Hi", tool_calls: [], tool_call_id: null },
      {
        role: "assistant",
        text: "",
        tool_calls: [{ id: "1", tool_name: "look", input: { at: 1 } }],
        tool_call_id: null,
      },
    ],
  } as unknown as Context;
  expect(promptText(told)).toBe('## system\n\nBe kind.\n\n## user\n\nHi\n\n## assistant\n\n\n[calls look {"at":1}]');
});

test("items lead to where they come from", () => {
  expect(sourceOf("memories", { id: "m" }, "c")).toEqual({ page: "memories", memoryId: "m" });
  expect(sourceOf("window", { id: "m" }, "c")).toEqual({ page: "conversation", id: "c", messageId: "m" });
  expect(sourceOf("system", { id: "system" }, "c")).toBeNull();
});

test("what was left out for one reason is told once", () => {
  const left = [
    { kind: "window", id: "a", tokens: 3, why: "no room" },
    { kind: "memories", id: "b", tokens: 5, why: "no room" },
    { kind: "window", id: "c", tokens: 4, why: "no room" },
  ] as Context["left_out"];
  expect(leftOutGroups(left)).toEqual([
    { kind: "window", why: "no room", tokens: 7, ids: ["a", "c"] },
    { kind: "memories", why: "no room", tokens: 5, ids: ["b"] },
  ]);
});

test("one prompt is looked at at a time", () => {
  const { store, inspect, close } = createInspector();
  inspect({ kind: "reply", conversationId: "c", messageId: "m" });
  inspect({ kind: "temporary", conversationId: "t" });
  expect(store.getState().inspected?.kind).toBe("temporary");
  close();
  expect(store.getState().inspected).toBeNull();
});
