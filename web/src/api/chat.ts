import type { Client } from "./client";
import { readEvents } from "./events";
import { asProblem, Problem } from "./problem";
import type { ChatEvent } from "./types";

/** What a turn is asked; it is sent again unchanged, with the same key, until it is known to be saved. */
export interface ChatBody {
  new_messages?: { id: string; role: "user" | "assistant" | "tool"; content: string; created_at: string }[];
  conversation_id?: string;
  agent_id?: string;
  parent_id?: string | null;
  regenerate?: string;
  temporary?: boolean;
  write_policy?: "turn" | "ahead" | "client";
}

/** Wait before the next attempt; rejects when it is aborted. */
export type Waiting = (milliseconds: number, signal?: AbortSignal) => Promise<void>;

export const sleep: Waiting = (milliseconds, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("aborted", "AbortError"));
    });
  });

export interface ChatOptions {
  signal?: AbortSignal;
  wait?: Waiting;
  /** The reply to follow from its beginning, if an earlier page saw it begin. */
  follow?: string | undefined;
}

const ATTEMPTS = 6;
/** A server that was killed while it answered is known to be dead after twenty seconds; until then a retry is refused. */
const ATTEMPTS_WHILE_BUSY = 12;
const FIRST_WAIT = 300;
const LONGEST_WAIT = 5_000;

/**
 * Take a turn and give its events.
 *
 * A connection that is lost after `start` is taken up where it broke; one that is lost before is asked again with the
 * same key, which has one effect however often it is sent.
 */
export async function* chat(
  client: Client,
  body: ChatBody,
  key: string,
  options: ChatOptions = {},
): AsyncGenerator<ChatEvent> {
  const wait = options.wait ?? sleep;
  const signal = options.signal;
  let messageId: string | null = options.follow ?? null;
  let lastId = "0";
  let failure: Problem | null = null;
  for (let attempt = 0; ; ) {
    try {
      const answer = messageId
        ? await client.answer("GET", `/api/chat/${encodeURIComponent(messageId)}/stream`, {
            accept: "text/event-stream",
            headers: { "Last-Event-ID": lastId },
            ...(signal && { signal }),
          })
        : await client.answer("POST", "/api/chat", {
            accept: "text/event-stream",
            body,
            key,
            ...(signal && { signal }),
          });
      if (!answer.body) throw new Problem(0, "no_stream", "The server sent no stream.");
      for await (const event of readEvents(answer.body)) {
        attempt = 0;
        if (event.id) lastId = event.id;
        const told = { event: event.event, ...JSON.parse(event.data) } as ChatEvent;
        if (told.event === "start") messageId = told.message_id;
        if (told.event === "error") failure = new Problem(500, told.code, told.detail);
        yield told;
        if (told.event === "done") return;
      }
      if (!failure) throw new Problem(0, "cut", "The connection was lost.");
    } catch (error) {
      const problem = asProblem(error);
      attempt += 1;
      // A server that was started again knows nothing of the stream; the key finds what it saved, or takes the turn.
      const isForgotten = messageId !== null && problem.status === 404;
      if (isForgotten) messageId = null;
      const attempts = problem.code === "request_in_flight" ? ATTEMPTS_WHILE_BUSY : ATTEMPTS;
      if ((!problem.isPassing && !isForgotten) || attempt >= attempts) throw problem;
      await wait(Math.min(FIRST_WAIT * 2 ** (attempt - 1), LONGEST_WAIT), signal);
    }
    // A turn that could not be recorded ends with an error and nothing after it; following it again tells no more.
    if (failure) throw failure;
  }
}
