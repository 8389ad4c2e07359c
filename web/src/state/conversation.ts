import { createStore } from "zustand/vanilla";
import { type ChatBody, chat, type Waiting } from "../api/chat";
import type { Client } from "../api/client";
import { asProblem, Problem } from "../api/problem";
import type {
  ChatEvent,
  Conversation,
  MemoryUsed,
  Message,
  MessagePage,
  OpenedConversation,
  ToolCall,
} from "../api/types";
import type { Archive } from "./archive";
import { branchingPoint, type ExportedRecord, endOfBranch } from "./branches";
import type { Outbox } from "./outbox";
import { unstored } from "./unstored";

/** A reply while it is written. */
export interface Draft {
  /** Null until the server begins. */
  messageId: string | null;
  text: string;
  toolCalls: ToolCall[];
  memories: MemoryUsed[];
}

/** Something that the user said and the server is not known to have. */
export interface Pending {
  key: string;
  text: string;
  /** The message that it answers, if that is not the newest: what is shown after it belongs to another branch. */
  after?: string | null;
  /** Why it was not sent; null while it is being sent. */
  problem: Problem | null;
}

export interface ConversationState {
  /** The visible conversation; one that is new has no row yet. */
  id: string;
  isTemporary: boolean;
  conversation: Conversation | null;
  /** What is visible, oldest first; the source of truth for this page. */
  messages: Message[];
  /** The message before which older ones can be read; null at the beginning. */
  older: string | null;
  isLoading: boolean;
  pending: Pending | null;
  draft: Draft | null;
  /** The memories that each reply was told, by the id of the reply. */
  memories: Record<string, MemoryUsed[]>;
  problem: Problem | null;
}

interface Parts {
  client: Client;
  outbox: Outbox;
  archive: Archive;
  newId?: () => string;
  now?: () => Date;
  wait?: Waiting;
}

const PAGE = 50;

/** The visible conversation and everything that can be done with it. */
export function createConversation({
  client,
  outbox,
  archive,
  newId = () => crypto.randomUUID(),
  now = () => new Date(),
  wait,
}: Parts) {
  const blank = (id: string, isTemporary = false): ConversationState => ({
    id,
    isTemporary,
    conversation: null,
    messages: [],
    older: null,
    isLoading: false,
    pending: null,
    draft: null,
    memories: {},
    problem: null,
  });
  const store = createStore<ConversationState>(() => blank(newId()));
  const { getState, setState } = store;
  /** The newest end of the branch through each message that was shown; the server does not tell it. */
  const ends = new Map<string, string>();
  let leaving = new AbortController();

  const path = (id: string) => `/api/conversations/${encodeURIComponent(id)}`;
  const isHere = (id: string) => getState().id === id;

  /** Leave the visible conversation: what it holds back is archived, and nothing of it shows up elsewhere. */
  function leave(id: string, isTemporary = false): void {
    void archive.flush(getState().id);
    leaving.abort();
    leaving = new AbortController();
    setState(blank(id, isTemporary), true);
  }

  async function show(id: string, read: () => Promise<OpenedConversation>): Promise<void> {
    setState({ isLoading: true, problem: null });
    try {
      const { messages, next, ...conversation } = await read();
      // Whoever says something before another conversation is read is in a new one.
      const { pending, messages: said } = getState();
      const isTaken = conversation.id !== id && (pending !== null || said.length > 0);
      if (isHere(id) && !isTaken) setState({ id: conversation.id, conversation, messages, older: next });
    } catch (error) {
      if (isHere(id)) setState({ problem: asProblem(error) });
    } finally {
      if (isHere(id) || getState().isLoading) setState({ isLoading: false });
    }
  }

  async function open(id: string): Promise<void> {
    if (!isHere(id)) leave(id);
    await show(id, () => client.get<OpenedConversation>(path(id), { signal: leaving.signal }));
    const unsent = outbox.store.getState().waiting.find((one) => one.conversationId === id);
    if (unsent && isHere(id) && !getState().draft) await take(unsent.body, unsent.key, unsent.replyId);
  }

  async function refresh(id: string): Promise<void> {
    const opened = await client.get<OpenedConversation>(path(id), { signal: leaving.signal }).catch(() => null);
    if (!opened || !isHere(id)) return;
    const { messages, next, ...conversation } = opened;
    // What was read before stays if the new page goes on from it: whatever leads to a message is the same in every page,
    // except for a summary that was written meanwhile.
    const { messages: shown, conversation: before } = getState();
    if (before?.head_id) for (const one of shown) ends.set(one.id, before.head_id);
    const joint = messages.find((one) => one.role !== "summary" && shown.some((other) => other.id === one.id));
    const at = shown.findIndex((one) => one.id === joint?.id);
    const isJoined = at >= 0;
    const read = new Set(messages.map((one) => one.id));
    const kept = shown.slice(0, Math.max(at, 0)).filter((one) => !read.has(one.id));
    setState({
      conversation,
      messages: isJoined ? [...kept, ...messages] : messages,
      older: isJoined ? getState().older : next,
    });
  }

  async function findEnd(id: string, messageId: string): Promise<string> {
    const query = { format: "json" };
    return endOfBranch(await client.get<ExportedRecord[]>(`${path(id)}/export`, { query }), messageId);
  }

  const unarchived = (id: string) => archive.store.getState().waiting.filter((one) => one.conversationId === id);

  /** Have everything stored, because a branch begins at a message that the server has; false if that fails. */
  async function settle(id: string): Promise<boolean> {
    if (!unarchived(id).length) return true;
    await archive.flush(id);
    if (!isHere(id)) return false;
    if (unarchived(id).length) {
      setState({ problem: new Problem(0, "unarchived", "This works once the conversation is archived.") });
      return false;
    }
    await refresh(id);
    return true;
  }

  /** Take a turn: it is in the outbox before it is sent, and until it is saved. */
  async function take(body: ChatBody, key: string, follow?: string): Promise<void> {
    const id = getState().id;
    const text = body.new_messages?.at(-1)?.content ?? "";
    const after = branchingPoint(body, getState().messages);
    const pending = { key, text, problem: null, ...(after !== undefined && { after }) };
    setState({ pending, draft: { messageId: null, text: "", toolCalls: [], memories: [] }, problem: null });
    const unsent = { key, conversationId: id, body, at: now().toISOString(), ...(follow && { replyId: follow }) };
    if (!body.temporary) await outbox.put(unsent);
    try {
      for await (const event of chat(client, body, key, { signal: leaving.signal, follow, ...(wait && { wait }) })) {
        if (event.event === "start" && !body.temporary) void outbox.put({ ...unsent, replyId: event.message_id });
        await hear(id, body, key, event);
      }
    } catch (error) {
      failed(id, key, error);
    }
  }

  function failed(id: string, key: string, error: unknown): void {
    try {
      const problem = asProblem(error);
      if (!problem.isPassing) void outbox.remove(key);
      if (isHere(id)) {
        const pending = getState().pending;
        setState({ draft: null, problem, pending: pending && { ...pending, problem } });
      }
    } catch {
      // The conversation was left; what was said is in the outbox.
    }
  }

  async function hear(id: string, body: ChatBody, key: string, event: ChatEvent): Promise<void> {
    if (event.event === "saved" && event.durability !== "volatile") await outbox.remove(key);
    if (!isHere(id)) return;
    const draft = getState().draft ?? { messageId: null, text: "", toolCalls: [], memories: [] };
    switch (event.event) {
      case "start":
        setState({ draft: { messageId: event.message_id, text: "", toolCalls: [], memories: event.memories_used } });
        break;
      case "delta":
        setState({ draft: { ...draft, text: draft.text + event.text } });
        break;
      case "tool_call": {
        const call = { id: event.id, tool_name: event.tool_name, input: event.input, output: null };
        setState({ draft: { ...draft, toolCalls: [...draft.toolCalls, call] } });
        break;
      }
      case "tool_result": {
        const toolCalls = draft.toolCalls.map((one) => (one.id === event.id ? { ...one, output: event.output } : one));
        setState({ draft: { ...draft, toolCalls } });
        break;
      }
      case "error":
        setState({ problem: new Problem(500, event.code, event.detail) });
        break;
      case "saved":
        setState((state) => ({
          memories: { ...state.memories, ...(draft.messageId && { [draft.messageId]: draft.memories }) },
        }));
        if (event.durability === "durable") await refresh(id);
        else await keep(id, body, draft, event.durability === "client");
        break;
      case "done":
        setState({ draft: null, pending: null });
        break;
    }
  }

  /** Show messages that the server did not store, and archive them if that is left to us. */
  async function keep(id: string, body: ChatBody, draft: Draft, isOurs: boolean): Promise<void> {
    const at = now().toISOString();
    const said = (body.new_messages ?? []).map((one) => ({
      id: one.id,
      role: one.role,
      content: one.content,
      created_at: one.created_at,
    }));
    const reply = { id: draft.messageId ?? newId(), role: "assistant" as const, content: draft.text, created_at: at };
    const known = new Set(getState().messages.map((one) => one.id));
    const made = [...said, reply].filter((one) => !known.has(one.id));
    setState((state) => ({ messages: [...state.messages, ...made.map((one) => unstored(id, one, draft))] }));
    if (isOurs) await archive.add(made.map((message) => ({ conversationId: id, message })));
  }

  const said = (text: string) => [
    { id: newId(), role: "user" as const, content: text, created_at: now().toISOString() },
  ];

  return {
    store,
    open,

    /** Open the conversation that was used last. */
    async openCurrent(): Promise<void> {
      await show(getState().id, () =>
        client.get<OpenedConversation>("/api/conversations/current", { signal: leaving.signal }),
      );
    },

    /** Begin a conversation; it is stored with the first turn, and a temporary one never. */
    begin(isTemporary = false): void {
      leave(newId(), isTemporary);
    },

    /** Read older messages. */
    async loadOlder(): Promise<void> {
      const { id, older, isLoading } = getState();
      if (older === null || isLoading) return;
      setState({ isLoading: true });
      try {
        const page = await client.get<MessagePage>(`${path(id)}/messages`, {
          query: { before: older, limit: PAGE },
          signal: leaving.signal,
        });
        if (isHere(id)) setState((state) => ({ messages: [...page.items, ...state.messages], older: page.next }));
      } catch (error) {
        if (isHere(id)) setState({ problem: asProblem(error) });
      } finally {
        if (isHere(id)) setState({ isLoading: false });
      }
    },

    /** Say something; in a temporary chat the whole conversation is sent along, for nobody else has it. */
    async send(text: string): Promise<void> {
      const { id, isTemporary, messages, draft } = getState();
      if (draft || !text.trim()) return;
      if (isTemporary) {
        const earlier = messages.map((one) => ({
          id: one.id,
          role: one.role as "user",
          content: one.content,
          created_at: one.created_at,
        }));
        await take({ new_messages: [...earlier, ...said(text)], temporary: true }, newId());
      } else {
        // What only we have is sent along, for the model is to know it.
        const earlier = unarchived(id).map((one) => one.message);
        await take({ conversation_id: id, new_messages: [...earlier, ...said(text)] }, newId());
      }
    },

    /** Say something else in the place of a message, on a branch of its own. */
    async edit(message: Message, text: string): Promise<void> {
      const id = getState().id;
      if (getState().draft || !text.trim() || !(await settle(id))) return;
      const stored = getState().messages.find((one) => one.id === message.id) ?? message;
      await take({ conversation_id: id, parent_id: stored.parent_id, new_messages: said(text) }, newId());
    },

    /** Have a message answered again, on a branch of its own. */
    async regenerate(messageId: string): Promise<void> {
      const id = getState().id;
      if (getState().draft || !(await settle(id))) return;
      await take({ conversation_id: id, regenerate: messageId }, newId());
    },

    /** Send again what could not be sent. */
    async retry(): Promise<void> {
      const pending = getState().pending;
      const unsent = outbox.store.getState().waiting.find((one) => one.key === pending?.key);
      if (unsent && !getState().draft) await take(unsent.body, unsent.key, unsent.replyId);
    },

    /** Give up what could not be sent. */
    async discard(): Promise<void> {
      const pending = getState().pending;
      if (pending) await outbox.remove(pending.key);
      setState({ pending: null, problem: null });
    },

    /** End the reply where it is; what was written stays. */
    async stop(): Promise<void> {
      const messageId = getState().draft?.messageId;
      if (messageId) await client.post("/api/chat/stop", { message_id: messageId }).catch(() => undefined);
    },

    /** Show the branch that goes through this message, as far as it was followed. */
    async selectBranch(messageId: string): Promise<void> {
      const id = getState().id;
      const end = ends.get(messageId) ?? (await findEnd(id, messageId));
      await client.patch(path(id), { head_id: end });
      await refresh(id);
    },

    /** Empty the conversation. */
    async clear(): Promise<void> {
      const id = getState().id;
      await client.post("/api/chat/clear", { session_id: id });
      if (isHere(id)) setState({ messages: [], older: null, memories: {} });
      await refresh(id);
    },

    refresh: () => refresh(getState().id),

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
