import { createStore } from "zustand/vanilla";
import type { Waiting } from "../api/chat";
import type { Client } from "../api/client";
import type { Conversation, MemoryUsed, OpenedConversation } from "../api/types";
import type { Archive } from "./archive";
import { blank, type ConversationState, type Switched } from "./conversationState";
import type { Outbox } from "./outbox";
import { createReading, path } from "./reading";
import { createTurns } from "./turns";

export type { ConversationState, Draft, Pending } from "./conversationState";

interface Parts {
  client: Client;
  outbox: Outbox;
  archive: Archive;
  /** Whether the page begins with a conversation that is not kept. */
  isTemporary?: boolean;
  newId?: () => string;
  now?: () => Date;
  wait?: Waiting;
}

/** The visible conversation and everything that can be done with it. */
export function createConversation({
  client,
  outbox,
  archive,
  isTemporary: isTemporaryFirst = false,
  newId = () => crypto.randomUUID(),
  now = () => new Date(),
  wait,
}: Parts) {
  const store = createStore<ConversationState>(() => blank(newId(), isTemporaryFirst));
  const { getState, setState } = store;
  let leaving = new AbortController();
  const ground = { client, store, signal: () => leaving.signal };
  const reading = createReading(ground);
  const { takeUp, ...turns } = createTurns({ ...ground, outbox, archive, reading, newId, now, wait });

  const isHere = (id: string) => getState().id === id;

  /** Leave the visible conversation: what it holds back is archived, and nothing of it shows up elsewhere. */
  function leave(id: string, isTemporary = false): void {
    void archive.flush(getState().id);
    leaving.abort();
    leaving = new AbortController();
    setState(blank(id, isTemporary), true);
  }

  async function read(id: string): Promise<void> {
    if (!isHere(id)) leave(id);
    await reading.show(id, () => client.get<OpenedConversation>(path(id), { signal: leaving.signal }));
  }

  return {
    store,
    ...turns,
    loadOlder: reading.loadOlder,
    loadNewer: reading.loadNewer,
    toNewest: reading.toNewest,
    refresh: () => reading.refresh(getState().id),

    /** Open a conversation at its end. */
    async open(id: string): Promise<void> {
      await read(id);
      await takeUp((_, conversationId) => conversationId === id);
    },

    /** Open a conversation at a message; the head before is returned if another branch had to be read. */
    async openAt(id: string, messageId: string, quote: string | null = null): Promise<string | null> {
      if (!isHere(id) || !getState().conversation) {
        await read(id);
        if (!isHere(id) || !getState().conversation) return null;
        void takeUp((_, conversationId) => conversationId === id);
      }
      return reading.goTo({ messageId, quote });
    },

    /** Read on without a message that was gone to. */
    async leaveTarget(): Promise<void> {
      const { target, newer } = getState();
      if (newer !== null) await reading.toNewest();
      else if (target?.messageId) setState({ target: null });
    },

    /** Open the conversation that was used last. */
    async openCurrent(): Promise<void> {
      await reading.show(getState().id, () =>
        client.get<OpenedConversation>("/api/conversations/current", { signal: leaving.signal }),
      );
    },

    /** Begin a conversation; it is stored with the first turn, and a temporary one never. */
    begin(isTemporary = false): void {
      const { conversation, messages, pending, isLoading, problem, ...state } = getState();
      const isNew = !conversation && !messages.length && !pending && !isLoading && !problem;
      // Whoever began to write before the page was ready goes on writing.
      if (!isNew || state.isTemporary !== isTemporary) leave(newId(), isTemporary);
    },

    /** Continue from the end of another branch, and show it around what stands where the branches part. */
    async selectBranch(headId: string, switched: Switched): Promise<void> {
      const id = getState().id;
      await client.patch(path(id), { head_id: headId });
      await reading.refresh(id, getState().newer !== null);
      if (!isHere(id)) return;
      setState({ switched });
      await reading.goTo({ messageId: switched.messageId, isQuiet: true });
    },

    /** Forget which branch was gone to, once it was shown. */
    settled: () => setState({ switched: null }),

    /** Continue from this message, which was the head before. */
    async returnTo(headId: string): Promise<void> {
      const id = getState().id;
      await client.patch(path(id), { head_id: headId });
      await reading.refresh(id, true);
      reading.pointTo({ messageId: null });
    },

    /** Empty the conversation. */
    async clear(): Promise<void> {
      const id = getState().id;
      await client.post("/api/chat/clear", { session_id: id });
      // What waits to be archived would come back.
      await archive.forget(id);
      if (isHere(id)) setState({ messages: [], older: null, newer: null, target: null, memories: {} });
      await reading.refresh(id);
    },

    /** Show a memory under the replies that used it as it is now; null once it is forgotten. */
    showMemory(memoryId: string, content: string | null): void {
      const changed = (used: MemoryUsed[]) =>
        content === null
          ? used.filter((one) => one.id !== memoryId)
          : used.map((one) => (one.id === memoryId ? { ...one, content } : one));
      setState(({ memories }) => ({
        memories: Object.fromEntries(Object.entries(memories).map(([reply, used]) => [reply, changed(used)])),
      }));
    },

    /** Take over what was changed elsewhere on this page, such as the title. */
    showConversation(conversation: Conversation): void {
      if (isHere(conversation.id)) setState({ conversation });
    },
  };
}

export type ConversationStore = ReturnType<typeof createConversation>;
