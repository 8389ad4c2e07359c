import type { Problem } from "../api/problem";
import type { Conversation, MemoryUsed, Message, ToolCall } from "../api/types";

/** A reply while it is written. */
export interface Draft {
  /** Null until the server begins. */
  messageId: string | null;
  text: string;
  toolCalls: ToolCall[];
  memories: MemoryUsed[];
  /** Once the server said that it stores nothing of it. */
  unkept?: "client" | "volatile";
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

/** Where the reader is to be taken. */
export interface Target {
  /** Null is the end. */
  messageId: string | null;
  /** The words to mark in it. */
  quote: string | null;
  /** Whether it is only brought into view, without being pointed out. */
  isQuiet: boolean;
  /** Another one each time, so that the same place can be asked for again. */
  turn: number;
}

/** The message that stands where another was, after going from one branch to its neighbour. */
export interface Switched {
  messageId: string;
  step: 1 | -1;
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
  /** The message after which newer ones can be read; null at the end, where one usually is. */
  newer: string | null;
  target: Target | null;
  switched: Switched | null;
  isLoading: boolean;
  pending: Pending | null;
  draft: Draft | null;
  /** The memories that each reply was told, by the id of the reply. */
  memories: Record<string, MemoryUsed[]>;
  problem: Problem | null;
}

/** A conversation of which nothing is known yet. */
export const blank = (id: string, isTemporary = false): ConversationState => ({
  id,
  isTemporary,
  conversation: null,
  messages: [],
  older: null,
  newer: null,
  target: null,
  switched: null,
  isLoading: false,
  pending: null,
  draft: null,
  memories: {},
  problem: null,
});
