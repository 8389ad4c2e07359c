import type { StoreApi } from "zustand/vanilla";
import type { Client } from "../api/client";
import { asProblem, Problem } from "../api/problem";
import type { MemoryUsed, Message, MessagePage, OpenedConversation } from "../api/types";
import { type ExportedRecord, endOfBranch } from "./branches";
import type { ConversationState, Target } from "./conversationState";

export interface Ground {
  client: Client;
  store: StoreApi<ConversationState>;
  /** Aborted when the visible conversation is left. */
  signal: () => AbortSignal;
}

/** Where to take the reader; null is the end. */
type Place = { messageId: string | null } & Partial<Pick<Target, "quote" | "isQuiet">>;

const PAGE = 50;

export const path = (id: string) => `/api/conversations/${encodeURIComponent(id)}`;

/** Reading the visible conversation: its newest messages, those around any other, and on in both directions. */
export function createReading({ client, store, signal }: Ground) {
  const { getState, setState } = store;
  const isHere = (id: string) => getState().id === id;
  let turns = 0;

  const page = (id: string, query: { before?: string; after?: string; limit?: number }) =>
    client.get<MessagePage>(`${path(id)}/messages`, {
      query: { limit: PAGE, ...query, memories: true },
      signal: signal(),
    });

  /** Read what the newest replies were told; without it they are shown all the same. */
  async function readMemories(id: string, messages: Message[]): Promise<void> {
    const { memories } = getState();
    if (!messages.some((one) => one.role === "assistant" && one.content && !memories[one.id])) return;
    const items = (await page(id, {}).catch(() => null))?.items;
    if (items && isHere(id)) setState((state) => ({ memories: withMemories(state.memories, items) }));
  }

  async function show(id: string, read: () => Promise<OpenedConversation>): Promise<void> {
    setState({ isLoading: true, problem: null });
    try {
      const { messages, next, ...conversation } = await read();
      // Whoever says something before another conversation is read is in a new one.
      const { pending, messages: said } = getState();
      const isTaken = conversation.id !== id && (pending !== null || said.length > 0);
      if (!isHere(id) || isTaken) return;
      setState({ id: conversation.id, conversation, messages, older: next, newer: null });
      void readMemories(conversation.id, messages);
    } catch (error) {
      if (isHere(id)) setState({ problem: asProblem(error) });
    } finally {
      if (isHere(id) || getState().isLoading) setState({ isLoading: false });
    }
  }

  async function refresh(id: string, isWhole = false): Promise<boolean> {
    const opened = await client.get<OpenedConversation>(path(id), { signal: signal() }).catch(() => null);
    if (!opened || !isHere(id)) return false;
    const { messages, next, ...conversation } = opened;
    // What was read before stays if the new page goes on from it: whatever leads to a message is the same in every page,
    // except for a summary that was written meanwhile.
    const { messages: shown, older, newer } = getState();
    const joint = messages.find((one) => one.role !== "summary" && shown.some((other) => other.id === one.id));
    const at = shown.findIndex((one) => one.id === joint?.id);
    if (at >= 0 && !isWhole) {
      const read = new Set(messages.map((one) => one.id));
      const kept = shown.slice(0, at).filter((one) => !read.has(one.id));
      setState({ conversation, messages: [...kept, ...messages], older: kept.length ? older : next, newer: null });
    } else if (newer !== null && !isWhole) {
      // Whoever reads far above is left there.
      setState({ conversation });
      return true;
    } else setState({ conversation, messages, older: next, newer: null });
    const before = new Set(shown.map((one) => one.id));
    void readMemories(
      id,
      messages.filter((one) => !before.has(one.id)),
    );
    return true;
  }

  /** Read a page beside what is shown and put it there. */
  async function extend(query: { before: string } | { after: string }): Promise<void> {
    const { id, isLoading } = getState();
    if (isLoading) return;
    setState({ isLoading: true });
    try {
      const { items, next } = await page(id, query);
      if (!isHere(id)) return;
      setState((state) => ({
        memories: withMemories(state.memories, items),
        ...("before" in query
          ? { messages: [...items, ...state.messages], older: next }
          : { messages: [...state.messages, ...items], newer: next }),
      }));
    } catch (error) {
      if (isHere(id)) setState({ problem: asProblem(error) });
    } finally {
      if (isHere(id)) setState({ isLoading: false });
    }
  }

  const newTarget = ({ messageId, quote = null, isQuiet = false }: Place) => ({
    messageId,
    quote,
    isQuiet,
    turn: ++turns,
  });

  /** Show what stands around a message; false if it is not on the branch that is read. */
  async function showAround(id: string, place: Place & { messageId: string }): Promise<boolean> {
    const { messageId } = place;
    const following = await page(id, { after: messageId, limit: PAGE / 2 });
    const next = following.items.find((one) => one.role !== "summary");
    const leading = next ? await page(id, { before: next.id }) : await page(id, {});
    if (!leading.items.some((one) => one.id === messageId)) return false;
    if (!isHere(id)) return true;
    setState((state) => ({
      messages: [...leading.items, ...following.items],
      older: leading.next,
      newer: following.next,
      memories: withMemories(state.memories, [...leading.items, ...following.items]),
      target: newTarget(place),
    }));
    return true;
  }

  /** Continue the conversation from the end of the branch through a message that is not shown. */
  async function changeBranch(id: string, messageId: string): Promise<void> {
    const records = await client.get<ExportedRecord[]>(`${path(id)}/export`, { query: { format: "json" } });
    await client.patch(path(id), { head_id: endOfBranch(records, messageId) });
    await refresh(id, true);
  }

  const pointTo = (place: Place) => setState({ target: newTarget(place) });

  return {
    show,
    refresh,
    pointTo,

    /** Read older messages. */
    async loadOlder(): Promise<void> {
      const { older } = getState();
      if (older !== null) await extend({ before: older });
    },

    /** Read newer messages, after going to one far above. */
    async loadNewer(): Promise<void> {
      const { newer } = getState();
      if (newer !== null) await extend({ after: newer });
    },

    /** Read the newest messages again and take the reader there. */
    async toNewest(): Promise<void> {
      const { id, newer } = getState();
      if (newer === null || (await refresh(id, true))) pointTo({ messageId: null });
    },

    /**
     * Take the reader to a message of the visible conversation, wherever it is.
     *
     * One on another branch makes that the one that is read; the head before is returned then, else null.
     */
    async goTo(place: Place & { messageId: string }): Promise<string | null> {
      const { messageId } = place;
      const { id, messages, conversation } = getState();
      if (messages.some((one) => one.id === messageId)) {
        pointTo(place);
        return null;
      }
      setState({ isLoading: true });
      try {
        const isOnBranch = await showAround(id, place);
        if (!isOnBranch) {
          await changeBranch(id, messageId);
          await showAround(id, place);
        }
        return isOnBranch ? null : (conversation?.head_id ?? null);
      } catch (error) {
        if (isHere(id)) setState({ problem: notShown(asProblem(error)) });
        return null;
      } finally {
        if (isHere(id)) setState({ isLoading: false });
      }
    },
  };
}

function notShown(problem: Problem): Problem {
  if (problem.status !== 404) return problem;
  return new Problem(404, problem.code, "That message is no longer there; these are the newest ones.");
}

function withMemories(known: Record<string, MemoryUsed[]>, items: Message[]): Record<string, MemoryUsed[]> {
  const told = items.flatMap((one) => (one.memories?.length ? [[one.id, one.memories] as const] : []));
  return told.length ? { ...known, ...Object.fromEntries(told) } : known;
}
