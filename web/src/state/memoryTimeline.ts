import type { Memory, MemoryHistory } from "../api/types";
import { importanceWord, ORIGINS, SUPERSEDED, TYPES } from "./memoryWords";

/** Something that happened to a memory. */
export interface Happening {
  /** Unlike any other of the timeline. */
  key: string;
  at: string;
  kind: "learned" | "changed" | "reviewed" | "replaced";
  /** What happened, and who did it where that is known. */
  says: string;
  /** What it said before, and what it says since. */
  before?: string;
  after?: string;
  /** The words that were the reason. */
  quote?: string;
  /** Another memory that this leads to. */
  memoryId?: string;
}

/** Tell what happened to a memory and to those that had its place, the newest first. */
export function timelineOf(memory: Memory, { items, values }: Pick<MemoryHistory, "items" | "values">): Happening[] {
  // What it said at first; of the others only what they say now is known.
  const first = items.at(-1)?.memory ?? memory;
  const told = values.map((value) => (value.id === memory.id ? first : value));
  const happened = [
    ...changesOf(memory, items),
    ...values.flatMap((value) => replacementOf(value, told)),
    ...told.filter((value) => !values.some((other) => other.superseded_by === value.id)).map(learningOf),
  ];
  return happened.sort((one, other) => (one.at < other.at ? 1 : one.at > other.at ? -1 : 0));
}

/** A value that begins its line: nothing was there before. */
function learningOf(value: Memory): Happening {
  const learned: Happening = {
    key: `learned ${value.id}`,
    at: value.created_at,
    kind: "learned",
    says: ORIGINS[value.origin],
    after: value.content,
    memoryId: value.id,
  };
  if (value.quote) learned.quote = value.quote;
  return learned;
}

/** The reason of a new value is its own source. */
function replacementOf(value: Memory, values: readonly Memory[]): Happening[] {
  const next = values.find((other) => other.id === value.superseded_by);
  if (!next) return [];
  const happening: Happening = {
    key: `replaced ${value.id}`,
    at: next.created_at,
    kind: "replaced",
    says: `Superseded by ${SUPERSEDED[next.origin]}`,
    before: value.content,
    after: next.content,
    memoryId: value.id,
  };
  if (next.quote) happening.quote = next.quote;
  return [happening];
}

function changesOf(memory: Memory, versions: MemoryHistory["items"]): Happening[] {
  return versions.flatMap(({ memory: before, until }, at) => {
    const after = versions[at - 1]?.memory ?? memory;
    const told = changeOf(before, after);
    return told ? [{ key: `version ${before.version}`, at: until, ...told }] : [];
  });
}

/** Say what changed between two versions; only people reword, decide and pin, so those are the user's. */
function changeOf(before: Memory, after: Memory): Omit<Happening, "key" | "at"> | null {
  if (before.trust !== after.trust) {
    const says = { active: "You approved it", rejected: "You rejected it", pending: "It waits for review again" };
    return { kind: "reviewed", says: says[after.trust], ...rewordingOf(before, after) };
  }
  const what = differences(before, after);
  if (before.content !== after.content) {
    const more = what.length ? `; ${what.join(", ")}` : "";
    return { kind: "changed", says: `You reworded it${more}`, ...rewordingOf(before, after) };
  }
  // What took its place is told with both values.
  if (!what.length) return null;
  return { kind: "changed", says: sentence(what.join(", ")) };
}

function rewordingOf(before: Memory, after: Memory): Pick<Happening, "before" | "after"> {
  return before.content === after.content ? {} : { before: before.content, after: after.content };
}

function differences(before: Memory, after: Memory): string[] {
  const told: string[] = [];
  if (before.is_pinned !== after.is_pinned) told.push(after.is_pinned ? "pinned" : "unpinned");
  if (before.is_archived !== after.is_archived) told.push(after.is_archived ? "archived" : "restored");
  if (before.memory_type !== after.memory_type) told.push(`is now ${inSentence(TYPES[after.memory_type])}`);
  if (before.category !== after.category)
    told.push(after.category ? `category is now “${after.category}”` : "has no category now");
  const isHeardAgain = after.source_message_ids.length > before.source_message_ids.length;
  if (isHeardAgain) told.push("heard again");
  if (before.importance !== after.importance) told.push(`importance is now ${share(after.importance)}`);
  if (before.confidence !== after.confidence) told.push(`confidence is now ${Math.round(after.confidence * 100)} %`);
  if (before.superseded_by && !after.superseded_by) told.push("holds again");
  else if (!before.valid_to && after.valid_to && !after.superseded_by) told.push("holds no longer");
  return told;
}

const share = (importance: number) => `${inSentence(importanceWord(importance))} (${Math.round(importance * 100)} %)`;
const inSentence = (text: string) => text.slice(0, 1).toLowerCase() + text.slice(1);
const sentence = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1);
