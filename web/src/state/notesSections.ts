/** A part of the notes: a header line and what follows it up to the next header, or what stands before the first. */
export interface Section {
  /** Null for what stands before the first header. */
  title: string | null;
  /** The number of `#`. */
  level: number;
  /** How many sections it lies in. */
  depth: number;
  /** What it says itself, without its header and without the sections in it. */
  body: string;
  start: number;
  /** Where the section ends with all sections in it. */
  end: number;
}

// A closing run of hashes stands apart, so `# C#` is about C#.
const HEADER = /^(#{1,6})\s+(.*?)(?:\s+#+)?\s*$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;

/** Find the sections of the notes as the server does: headers inside of fenced code are code. */
export function sectionsOf(text: string): Section[] {
  const sections: Section[] = [];
  const open: Section[] = [];
  let fence = "";
  let position = 0;
  let bodyStart = 0;

  const endBody = () => {
    const last = sections.at(-1);
    if (last) last.body = text.slice(bodyStart, position);
  };
  for (const line of text.match(/[^\n]*\n|[^\n]+/g) ?? []) {
    fence = fenceAfter(line, fence);
    const header = fence ? null : HEADER.exec(line);
    if (header || position === 0) {
      endBody();
      const level = header?.[1]?.length ?? 0;
      while (open.length && (open.at(-1)?.level ?? 0) >= level) closeLast(open, position);
      const section = {
        title: header ? (header[2] ?? "") : null,
        level,
        depth: open.length,
        body: "",
        start: position,
        end: text.length,
      };
      sections.push(section);
      // What stands before the first header holds no other.
      if (header) open.push(section);
      bodyStart = header ? position + line.length : position;
    }
    position += line.length;
  }
  endBody();
  const [first, second] = sections;
  if (first && first.title === null && second) first.end = second.start;
  return sections;
}

function closeLast(open: Section[], position: number): void {
  const last = open.pop();
  if (last) last.end = position;
}

/** What fences the code after this line, if anything; only its own kind ends a fence. */
function fenceAfter(line: string, fence: string): string {
  const found = FENCE.exec(line.replace(/\n$/, ""));
  if (!found) return fence;
  const [, marks = "", rest = ""] = found;
  if (!fence) return marks;
  return marks.startsWith(fence) && !rest.trim() ? "" : fence;
}

/** Put a text in the place of a section with all that is in it; what follows still begins on a line of its own. */
export function withSection(text: string, { start, end }: Section, changed: string): string {
  const rest = text.slice(end);
  const needsBreak = changed !== "" && !changed.endsWith("\n") && rest !== "";
  return text.slice(0, start) + changed + (needsBreak ? "\n" : "") + rest;
}

/** Call a section by another title. */
export function withTitle(text: string, section: Section, title: string): string {
  const source = text.slice(section.start, section.end);
  const header = `${"#".repeat(section.level)} ${title.replace(/\s+/g, " ").trim()}`;
  return withSection(
    text,
    section,
    source.replace(/^[^\n]*/, () => header),
  );
}

/** Add a section at the end, apart from what is there by an empty line. */
export function withNewSection(text: string, title: string, body: string): string {
  const gap = text === "" || text.endsWith("\n\n") ? "" : text.endsWith("\n") ? "\n" : "\n\n";
  return `${text}${gap}# ${title.replace(/\s+/g, " ").trim()}\n${body}${body.endsWith("\n") || body === "" ? "" : "\n"}`;
}
