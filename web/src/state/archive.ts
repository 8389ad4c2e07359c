import { createStore } from "zustand/vanilla";
import type { Client } from "../api/client";
import { asProblem } from "../api/problem";
import type { Shelf } from "./shelf";

/** A message that only this client has: the server's policy leaves it to the client to archive. */
export interface Unarchived {
  conversationId: string;
  message: { id: string; role: "user" | "assistant" | "tool"; content: string; created_at: string };
}

export interface ArchiveState {
  waiting: Unarchived[];
  /** Why archiving fails at the moment, for a calm notice; null while it works. */
  failure: string | null;
}

export interface ArchiveRules {
  everyMessages: number;
  everyMinutes: number;
}

/** How a page that is being left sends its last words: it cannot wait for an answer. */
export type Beacon = (url: string, text: string) => boolean;

/** What one beacon may hold; browsers allow 64 kB for all that are under way. */
export const BEACON_BYTES = 30_000;
const FIRST_WAIT = 1_000;
const LONGEST_WAIT = 60_000;

interface Parts {
  client: Client;
  shelf: Shelf<Unarchived>;
  beacon: Beacon;
  rules: () => ArchiveRules;
  later?: (work: () => void, milliseconds: number) => () => void;
}

const afterwards = (work: () => void, milliseconds: number) => {
  const timer = setTimeout(work, milliseconds);
  return () => clearTimeout(timer);
};

/** Archive messages in batches: after so many, after a while, when a conversation is left and when the page is. */
export function createArchive({ client, shelf, beacon, rules, later = afterwards }: Parts) {
  const store = createStore<ArchiveState>(() => ({ waiting: [], failure: null }));
  const tokens = new Map<string, { token: string; until: number }>();
  let wait = FIRST_WAIT;
  let cancelTimer: (() => void) | null = null;
  let running: Promise<void> | null = null;

  const schedule = (milliseconds: number) => {
    cancelTimer?.();
    cancelTimer = later(() => void flush(), milliseconds);
  };

  async function flush(conversationId?: string): Promise<void> {
    if (running) await running;
    running = send(conversationId).finally(() => {
      running = null;
    });
    return running;
  }

  async function send(conversationId?: string): Promise<void> {
    const batches = byConversation(store.getState().waiting, conversationId);
    for (const [id, batch] of batches) {
      try {
        await client.post("/api/chat/session/archive_messages", {
          session_id: id,
          messages_batch: batch.map((one) => one.message),
        });
        await letGo(batch);
        wait = FIRST_WAIT;
        store.setState({ failure: null });
      } catch (error) {
        const problem = asProblem(error);
        store.setState({ failure: problem.message });
        schedule(wait);
        wait = Math.min(wait * 2, LONGEST_WAIT);
        return;
      }
    }
  }

  async function letGo(batch: Unarchived[]): Promise<void> {
    const gone = new Set(batch.map(nameOf));
    store.setState((state) => ({ waiting: state.waiting.filter((one) => !gone.has(nameOf(one))) }));
    await Promise.all([...gone].map((name) => shelf.remove(name).catch(() => undefined)));
  }

  return {
    store,
    flush,

    /** Read what an earlier page left, and archive it. */
    async load(): Promise<void> {
      const found = await shelf.all().catch(() => []);
      const known = new Set(store.getState().waiting.map(nameOf));
      const more = found.map(([, one]) => one).filter((one) => !known.has(nameOf(one)));
      if (more.length) {
        store.setState((state) => ({ waiting: [...more, ...state.waiting] }));
        await flush();
      }
    },

    /** Keep messages until they are archived. */
    async add(messages: Unarchived[]): Promise<void> {
      store.setState((state) => ({ waiting: [...state.waiting, ...messages] }));
      await Promise.all(messages.map((one) => shelf.put(nameOf(one), one).catch(() => undefined)));
      await Promise.all([...new Set(messages.map((one) => one.conversationId))].map(renew));
      if (store.getState().waiting.length >= rules().everyMessages) await flush();
      else if (!cancelTimer) schedule(rules().everyMinutes * 60_000);
    },

    /** Hand everything to the browser as the page is left; what it refuses stays on the shelf for the next page. */
    leave(): number {
      let handed = 0;
      for (const [id, batch] of byConversation(store.getState().waiting)) {
        const held = tokens.get(id);
        if (!held) continue;
        for (const chunk of chunked(batch)) {
          const text = JSON.stringify({ session_id: id, messages_batch: chunk.map((one) => one.message) });
          const url = `/api/chat/session/archive_messages?archive_token=${encodeURIComponent(held.token)}`;
          if (beacon(url, text)) handed += chunk.length;
        }
      }
      return handed;
    },
  };

  /** Have a token at hand, for a page that is left has no time to ask for one. */
  async function renew(conversationId: string): Promise<void> {
    const held = tokens.get(conversationId);
    if (held && held.until > Date.now() + 60_000) return;
    try {
      const given = await client.post<{ archive_token: string; expires_at: string }>(
        "/api/chat/session/archive_token",
        {
          session_id: conversationId,
        },
      );
      tokens.set(conversationId, { token: given.archive_token, until: Date.parse(given.expires_at) });
    } catch {
      // The messages stay on the shelf; the next page archives them.
    }
  }
}

export type Archive = ReturnType<typeof createArchive>;

function nameOf(one: Unarchived): string {
  return `${one.conversationId}\n${one.message.id}`;
}

function byConversation(waiting: Unarchived[], only?: string): Map<string, Unarchived[]> {
  const found = new Map<string, Unarchived[]>();
  for (const one of waiting) {
    if (only === undefined || one.conversationId === only) {
      found.set(one.conversationId, [...(found.get(one.conversationId) ?? []), one]);
    }
  }
  return found;
}

function chunked(batch: Unarchived[]): Unarchived[][] {
  const chunks: Unarchived[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const one of batch) {
    const bytes = new TextEncoder().encode(JSON.stringify(one.message)).length;
    if (size + bytes > BEACON_BYTES) {
      chunks.push([]);
      size = 0;
    }
    chunks.at(-1)?.push(one);
    size += bytes;
  }
  return chunks;
}
