import { createStore } from "zustand/vanilla";
import type { Client } from "../api/client";
import { asProblem, type Problem } from "../api/problem";
import { byConversation, bytesOf, chunked, inOrder, nameOf, type Unarchived } from "./archiveBatches";
import type { Shelf } from "./shelf";

export type { Unarchived } from "./archiveBatches";

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

/** What beacons may hold; browsers allow 64 kB for all that are under way. */
export const BEACON_BYTES = 60_000;
/** What one request may hold; the server takes five times as much. */
export const REQUEST_BYTES = 1_000_000;
const FIRST_WAIT = 1_000;
const LONGEST_WAIT = 60_000;
const PATH = "/api/chat/session/archive_messages";

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

const bodyOf = (id: string, batch: Unarchived[]) => ({
  session_id: id,
  messages_batch: batch.map((one) => one.message),
});

/** Archive messages in batches: after so many, after a while, when a conversation is left and when the page is. */
export function createArchive({ client, shelf, beacon, rules, later = afterwards }: Parts) {
  const store = createStore<ArchiveState>(() => ({ waiting: [], failure: null }));
  const tokens = new Map<string, { token: string; until: number }>();
  let wait = FIRST_WAIT;
  let cancelTimer: (() => void) | null = null;
  let last: Promise<void> = Promise.resolve();
  /** Clocks go back and names are random, so each message is counted; a later page counts on from the highest. */
  let place = 0;

  const stopTimer = () => {
    cancelTimer?.();
    cancelTimer = null;
  };

  const schedule = (milliseconds: number) => {
    stopTimer();
    cancelTimer = later(() => {
      cancelTimer = null;
      void flush();
    }, milliseconds);
  };

  /** Archive what waits, of all conversations or of one; whoever calls meanwhile comes next. */
  function flush(conversationId?: string): Promise<void> {
    last = last.then(() => send(conversationId));
    return last;
  }

  async function send(only?: string): Promise<void> {
    let failure: Problem | null = null;
    for (const [id, batch] of byConversation(store.getState().waiting, only)) {
      const problem = await sendAll(id, batch);
      failure ??= problem;
      // One conversation that is refused does not hold up the others, but a server that is away is asked no more.
      if (problem?.isPassing) break;
    }
    const { waiting, failure: before } = store.getState();
    store.setState({ failure: failure?.message ?? (only === undefined || !waiting.length ? null : before) });
    if (failure) {
      schedule(wait);
      wait = Math.min(wait * 2, LONGEST_WAIT);
    } else {
      wait = FIRST_WAIT;
      if (!waiting.length) stopTimer();
    }
  }

  async function sendAll(id: string, batch: Unarchived[]): Promise<Problem | null> {
    for (const chunk of chunked(batch, REQUEST_BYTES)) {
      try {
        await client.post(PATH, bodyOf(id, chunk));
      } catch (error) {
        return asProblem(error);
      }
      await letGo(chunk);
    }
    return null;
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
      const found = inOrder((await shelf.all().catch(() => [])).map(([, one]) => one));
      place = Math.max(place, found.at(-1)?.place ?? 0);
      const known = new Set(store.getState().waiting.map(nameOf));
      const more = found.filter((one) => !known.has(nameOf(one)));
      if (more.length) {
        store.setState((state) => ({ waiting: [...more, ...state.waiting] }));
        await flush();
      }
    },

    /** Keep messages until they are archived. */
    async add(messages: Unarchived[]): Promise<void> {
      place = Math.max(place, Date.now());
      const placed = messages.map((one) => ({ ...one, place: ++place }));
      store.setState((state) => ({ waiting: [...state.waiting, ...placed] }));
      await Promise.all(placed.map((one) => shelf.put(nameOf(one), one).catch(() => undefined)));
      await Promise.all([...new Set(placed.map((one) => one.conversationId))].map(renew));
      if (store.getState().waiting.length >= rules().everyMessages) await flush();
      else if (!cancelTimer) schedule(rules().everyMinutes * 60_000);
    },

    /** Give up what waits of a conversation that is erased, for archiving it would bring it back. */
    async forget(conversationId: string): Promise<void> {
      await letGo(store.getState().waiting.filter((one) => one.conversationId === conversationId));
    },

    /**
     * Hand what fits to the browser as the page is left; the rest stays on the shelf for the next page.
     *
     * Beacons overtake each other, so that a conversation gets one, with its oldest messages.
     */
    leave(): number {
      let handed = 0;
      let room = BEACON_BYTES;
      for (const [id, batch] of byConversation(store.getState().waiting)) {
        const [first = []] = chunked(batch, room);
        const bytes = first.reduce((sum, one) => sum + bytesOf(one), 0);
        if (bytes > room || !hand(id, first)) continue;
        room -= bytes;
        handed += first.length;
      }
      return handed;
    },
  };

  function hand(id: string, chunk: Unarchived[]): boolean {
    const held = tokens.get(id);
    if (!held || held.until <= Date.now()) {
      // Without a token only the session vouches for it, which a beacon may not use.
      client.answer("POST", PATH, { body: bodyOf(id, chunk), outlives: true }).catch(() => undefined);
      return true;
    }
    return beacon(`${PATH}?archive_token=${encodeURIComponent(held.token)}`, JSON.stringify(bodyOf(id, chunk)));
  }

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
