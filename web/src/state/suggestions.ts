/** Something that the assistant suggests to say. */
export interface Suggestion {
  label: string;
  text: string;
}

/** Read suggestions as loosely as they are written: texts, or objects with a label and a value. */
export function suggestionsOf(given: unknown): Suggestion[] {
  if (!Array.isArray(given)) return [];
  return given.flatMap((one: unknown) => {
    if (typeof one === "string" || typeof one === "number") return [{ label: String(one), text: String(one) }];
    if (typeof one !== "object" || one === null) return [];
    const fields = one as Record<string, unknown>;
    const label = firstText(fields, ["label", "title", "name", "value", "text"]);
    const text = firstText(fields, ["value", "text", "action", "label", "title", "name"]);
    return label && text ? [{ label, text }] : [];
  });
}

function firstText(fields: Record<string, unknown>, names: string[]): string | null {
  for (const name of names) {
    const value = fields[name];
    if (typeof value === "string" && value) return value;
    if (typeof value === "number") return String(value);
  }
  return null;
}
