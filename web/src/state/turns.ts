import { type ChatBody, chat, type Waiting } from "../api/chat";
import { asProblem, Problem } from "../api/problem";
import type { ChatEvent, Message } from "../api/types";
import type { Archive } from "./archive";
import type { OwnMessage } from "./archiveBatches";
import { branchingPoint } from "./branches";
import type { Draft } from "./conversationState";
import type { Outbox } from "./outbox";
import type { createReading, Ground } from "./reading";
import { unstored } from "./unstored";

export interface TurnParts extends Ground {
  outbox: Outbox;
  archive: Archive;
  reading: ReturnType<typeof createReading>;
  newId: () => string;
  now: () => Date;
  wait: Waiting | undefined;
}

const NOTHING_YET: Draft = { messageId: null, text: "", toolCalls: [], memories: [] };

/** Taking turns in the visible conversation: what is said is kept here until the server is known to have it. */
export function createTurns({ client, store, signal, outbox, archive, reading, newId, now, wait }: TurnParts) {
  const { getState, setState } = store;
  const isHere = (id: string) => getState().id === id;
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
    await reading.refresh(id);
    return true;
  }

  /** Take a turn: it is in the outbox before it is sent, and until it is saved. */
  async function take(body: ChatBody, key: string, follow?: string): Promise<void> {
    const { id, messages, newer } = getState();
    const text = body.new_messages?.at(-1)?.content ?? "";
    const after = branchingPoint(body, messages);
    const pending = { key, text, problem: null, ...(after !== undefined && { after }) };
    setState({ pending, draft: NOTHING_YET, problem: null });
    // What is said goes on from the end, and is shown there.
    if (newer !== null) void reading.toNewest();
    const unsent = { key, conversationId: id, body, at: now().toISOString(), ...(follow && { replyId: follow }) };
    if (!body.temporary) await outbox.put(unsent);
    try {
      for await (const event of chat(client, body, key, { signal: signal(), follow, ...(wait && { wait }) })) {
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
    if (event.event === "saved" && event.durability === "durable") await outbox.remove(key);
    if (!isHere(id)) return;
    const draft = getState().draft ?? NOTHING_YET;
    switch (event.event) {
      case "start":
        setState({ draft: { ...NOTHING_YET, messageId: event.message_id, memories: event.memories_used } });
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
        if (event.durability === "durable") await reading.refresh(id);
        else setState({ draft: { ...draft, unkept: event.durability } });
        break;
      case "done":
        if (draft.unkept) await keep(id, body, draft, event.status);
        // Not before it is with what is archived, or a crash in between would lose it.
        if (draft.unkept === "client") await outbox.remove(key);
        setState({ draft: null, pending: null });
        break;
    }
  }

  /** Show messages that the server did not store, and archive them if that is left to us. */
  async function keep(id: string, body: ChatBody, draft: Draft, status: Message["status"]): Promise<void> {
    const said: OwnMessage[] = (body.new_messages ?? []).map((one) => ({
      id: one.id,
      role: one.role,
      content: one.content,
      created_at: one.created_at,
    }));
    const reply: OwnMessage = {
      id: draft.messageId ?? newId(),
      role: "assistant",
      content: draft.text,
      created_at: now().toISOString(),
      ...(status !== "complete" && { status }),
      ...(draft.toolCalls.length > 0 && { tool_calls: draft.toolCalls }),
    };
    const known = new Set(getState().messages.map((one) => one.id));
    const made = [...said, reply].filter((one) => !known.has(one.id));
    setState((state) => ({ messages: [...state.messages, ...made.map((one) => unstored(id, one))] }));
    if (draft.unkept === "client") await archive.add(made.map((message) => ({ conversationId: id, message })));
  }

  const said = (text: string) => [
    { id: newId(), role: "user" as const, content: text, created_at: now().toISOString() },
  ];

  /** Take the turn again that an earlier page could not end. */
  async function takeUp(isIt: (key: string, conversationId: string) => boolean): Promise<void> {
    const unsent = outbox.store.getState().waiting.find((one) => isIt(one.key, one.conversationId));
    if (unsent && isHere(unsent.conversationId) && !getState().draft) {
      await take(unsent.body, unsent.key, unsent.replyId);
    }
  }

  return {
    takeUp,

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
      await takeUp((key) => key === pending?.key);
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
  };
}
