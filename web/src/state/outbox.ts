import { createStore } from "zustand/vanilla";
import type { ChatBody } from "../api/chat";
import type { Shelf } from "./shelf";

/** A turn that is not known to be saved: it is sent again, with the same key, until it is. */
export interface Unsent {
  key: string;
  conversationId: string;
  body: ChatBody;
  at: string;
  /** The reply, once it has begun: a later page follows it instead of asking again. */
  replyId?: string;
}

export interface OutboxState {
  waiting: Unsent[];
  /** Whether the browser keeps what waits; if not, it is lost with the page, and the user is told. */
  isKept: boolean;
}

/** Keep what the user said until the server has it. */
export function createOutbox(shelf: Shelf<Unsent>) {
  const store = createStore<OutboxState>(() => ({ waiting: [], isKept: true }));

  const tried = async (work: () => Promise<void>) => {
    try {
      await work();
      store.setState({ isKept: true });
    } catch {
      store.setState({ isKept: false });
    }
  };

  return {
    store,

    /** Read what an earlier page left. */
    async load(): Promise<Unsent[]> {
      await tried(async () => {
        const known = new Set(store.getState().waiting.map((one) => one.key));
        const found = (await shelf.all()).map(([, unsent]) => unsent).filter((one) => !known.has(one.key));
        store.setState((state) => ({ waiting: [...found, ...state.waiting].sort((a, b) => (a.at < b.at ? -1 : 1)) }));
      });
      return store.getState().waiting;
    },

    /** Keep a turn before it is sent. */
    async put(unsent: Unsent): Promise<void> {
      store.setState((state) => ({ waiting: [...state.waiting.filter((one) => one.key !== unsent.key), unsent] }));
      await tried(() => shelf.put(unsent.key, unsent));
    },

    /** Let go of a turn that the server has, or that the user gave up. */
    async remove(key: string): Promise<void> {
      store.setState((state) => ({ waiting: state.waiting.filter((one) => one.key !== key) }));
      await tried(() => shelf.remove(key));
    },
  };
}

export type Outbox = ReturnType<typeof createOutbox>;
