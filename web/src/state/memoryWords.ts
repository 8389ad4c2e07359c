import type { Memory } from "../api/types";

/** The kinds of memories, in the order in which they are offered, as people call them. */
export const TYPES: Record<Memory["memory_type"], string> = {
  fact: "Fact",
  preference: "Preference",
  insight: "Insight",
  entity: "Entity",
  project: "Project",
  decision: "Decision",
};

/** Where memories come from. */
export const ORIGINS: Record<Memory["origin"], string> = {
  user: "You said it",
  assistant: "The assistant said it",
  tool: "A tool said it",
  document: "From a document",
  import: "Imported",
  manual: "Added by hand",
};

/** By what a memory was superseded, from where that comes from. */
export const SUPERSEDED: Record<Memory["origin"], string> = {
  user: "what you said",
  assistant: "what the assistant said",
  tool: "what a tool said",
  document: "a document",
  import: "an import",
  manual: "what you added",
};

/** Whether memories may be used. */
export const TRUSTS: Record<Memory["trust"], string> = {
  active: "In use",
  pending: "Waiting for review",
  rejected: "Rejected",
};

/** How much a memory matters, in a word. */
export function importanceWord(importance: number): string {
  if (importance >= 0.8) return "High";
  if (importance >= 0.5) return "Medium";
  return importance >= 0.3 ? "Low" : "Very low";
}

/** Name a day as it is written, without its time. */
export function dayOf(at: string, locale?: string): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: "medium" }).format(new Date(at));
}

/** Name a moment. */
export function momentOf(at: string, locale?: string): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" }).format(new Date(at));
}

/** Say how long a memory held or holds; null if nothing limits it. */
export function validityOf(memory: Pick<Memory, "valid_from" | "valid_to">, locale?: string): string | null {
  const { valid_from: from, valid_to: to } = memory;
  if (from && to) {
    const [first, last] = [dayOf(from, locale), dayOf(to, locale)];
    return first === last ? `On ${first}` : `${first} – ${last}`;
  }
  if (from) return `Since ${dayOf(from, locale)}`;
  return to ? `Until ${dayOf(to, locale)}` : null;
}

/** Count in words. */
export const memoriesCount = (count: number) => (count === 1 ? "1 memory" : `${count} memories`);
