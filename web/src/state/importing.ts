import { createStore } from "zustand/vanilla";
import type { Client } from "../api/client";
import { asProblem, Problem } from "../api/problem";
import type { Imported } from "../api/types";

/** A piece of a file that is sent at once. */
export interface FilePart {
  start: number;
  end: number;
  /** The number of its first line in the file. */
  line: number;
}

export interface ImportingState {
  /** How many bytes of the file the server has taken in; null while nothing is imported. */
  progress: { done: number; total: number } | null;
  result: Imported | null;
  problem: string | null;
}

/** Parts of about this size show how far it is, and lose little when the connection is lost. */
const USUAL_PART = 1_000_000;
const BREAK = 10;
const KIND = /^\s*,?\s*\{\s*"kind"\s*:\s*"([a-z]+)"/;
const KIND_BYTES = 60;

/**
 * Cut a file between lines into parts of at most so many bytes.
 *
 * A conversation and the versions of the notes are each kept whole as far as they fit, for the server sets the head
 * of a conversation where its messages end, and takes notes over only from their beginning.
 */
export async function partsOf(file: Blob, most: number): Promise<FilePart[]> {
  const parts: FilePart[] = [];
  const usual = Math.min(USUAL_PART, most);
  let part = { start: 0, line: 1 };
  let good = part;
  let before = "";
  const cut = (at: typeof part) => {
    parts.push({ ...part, end: at.start });
    part = at;
  };
  for await (const { start, end, line, head } of linesOf(file)) {
    const kind = KIND.exec(head)?.[1] ?? "";
    const here = { start, line };
    const isGood = kind === "conversation" || kind === "memory" || (kind === "note" && before !== "note");
    if (isGood && start - part.start >= usual) cut(here);
    if (isGood) good = here;
    if (end - part.start > most && start > part.start) cut(good.start > part.start ? good : here);
    // What was kept whole for as long as it fitted may itself be too much.
    if (end - part.start > most && start > part.start) cut(here);
    if (kind) before = kind;
  }
  parts.push({ ...part, end: file.size });
  return parts.filter((one) => one.end > one.start);
}

interface Line {
  start: number;
  end: number;
  line: number;
  /** How it begins. */
  head: string;
}

async function* linesOf(file: Blob): AsyncGenerator<Line> {
  const decoder = new TextDecoder();
  const reader = file.stream().getReader();
  let [position, start, line] = [0, 0, 1];
  let head: number[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    let from = 0;
    for (;;) {
      const at = value.indexOf(BREAK, from);
      const until = at < 0 ? value.length : at;
      if (head.length < KIND_BYTES) head.push(...value.subarray(from, Math.min(until, from + KIND_BYTES)));
      if (at < 0) break;
      const end = position + at + 1;
      yield { start, end, line, head: decoder.decode(new Uint8Array(head)) };
      start = end;
      line += 1;
      head = [];
      from = at + 1;
    }
    position += value.length;
  }
  if (start < position) yield { start, end: position, line, head: decoder.decode(new Uint8Array(head)) };
}

/** Take in a file that an export made, part by part; the same file again stores nothing twice. */
export function createImporting(client: Client) {
  const store = createStore<ImportingState>(() => ({ progress: null, result: null, problem: null }));
  let running: AbortController | null = null;

  return {
    store,

    /** Import a file; `isTrusted` says that it is the user's own word, `most` how many bytes the server takes at once. */
    async run(file: Blob, isTrusted: boolean, most: number): Promise<void> {
      if (running) return;
      running = new AbortController();
      const { signal } = running;
      store.setState({ progress: { done: 0, total: file.size }, result: null, problem: null });
      let result: Imported | null = null;
      try {
        for (const part of await partsOf(file, most)) {
          result = added(result, await send(client, file, part, isTrusted, signal), part.line - 1);
          store.setState({ progress: { done: part.end, total: file.size } });
        }
        store.setState({ result, problem: result ? null : "The file is empty." });
      } catch (error) {
        store.setState({ result, problem: signal.aborted ? "You stopped it." : asProblem(error).message });
      } finally {
        running = null;
        store.setState({ progress: null });
      }
    },

    /** Stop after what was sent; what is stored stays. */
    stop: () => running?.abort(),
  };
}

export type Importing = ReturnType<typeof createImporting>;

async function send(client: Client, file: Blob, part: FilePart, isTrusted: boolean, signal: AbortSignal) {
  try {
    const answer = await client.answer("POST", "/api/import", {
      body: file.slice(part.start, part.end),
      headers: { "Content-Type": "application/x-ndjson" },
      query: { trusted: isTrusted },
      signal,
    });
    return (await answer.json()) as Imported;
  } catch (error) {
    const problem = asProblem(error);
    // The server counts the lines of what it was sent.
    const message = problem.message.replace(/\bline (\d+)/, (_, line) => `line ${Number(line) + part.line - 1}`);
    throw new Problem(problem.status, problem.code, message, problem.requestId);
  }
}

function added(one: Imported | null, other: Imported, lines: number): Imported {
  const refusals = other.refusals.map(({ line, why }) => ({ line: line + lines, why }));
  if (!one) return { ...other, refusals };
  const sum = { ...one, refusals: [...one.refusals, ...refusals].slice(0, 100) };
  for (const name of COUNTS) sum[name] += other[name];
  return sum;
}

const COUNTS = [
  "conversations",
  "messages",
  "summaries",
  "memories",
  "notes",
  "preferences",
  "skipped",
  "refused",
] as const;
