import { createStore } from "zustand/vanilla";
import type { ChatBody } from "../api/chat";
import type { Shelf } from "./shelf";
import { NO_TABS, type Tabs } from "./tabs";

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
  /** The keys of what another tab sends; it needs nobody's care. */
  elsewhere: ReadonlySet<string>;
}

/** Whether the tab that sends a turn is still there is looked at this often: one that is gone says nothing. */
const LOOK_AGAIN = 2_000;

/** Keep what the user said until the server has it. */
export function createOutbox(shelf: Shelf<Unsent>, tabs: Tabs = NO_TABS, later = setTimeout) {
  const store = createStore<OutboxState>(() => ({ waiting: [], isKept: true, elsewhere: new Set() }));
  const held = new Map<string, () => void>();
  let isLooking = false;

  const tried = async (work: () => Promise<void>) => {
    try {
      await work();
      store.setState({ isKept: true });
    } catch {
      store.setState({ isKept: false });
    }
  };

  const letGo = (key: string) => {
    store.setState((state) => ({ waiting: state.waiting.filter((one) => one.key !== key) }));
    held.get(key)?.();
    held.delete(key);
  };

  async function load(): Promise<Unsent[]> {
    await tried(async () => {
      const found = (await shelf.all()).map(([, unsent]) => unsent);
      const all = await tabs.held();
      const elsewhere = new Set([...all].filter((key) => !held.has(key)));
      const ours = store.getState().waiting.filter((one) => held.has(one.key));
      const known = new Set(ours.map((one) => one.key));
      const waiting = [...found.filter((one) => !known.has(one.key)), ...ours];
      store.setState({ waiting: waiting.sort((a, b) => (a.at < b.at ? -1 : 1)), elsewhere });
    });
    const { waiting, elsewhere } = store.getState();
    if (!isLooking && waiting.some((one) => elsewhere.has(one.key))) {
      isLooking = true;
      later(() => {
        isLooking = false;
        void load();
      }, LOOK_AGAIN);
    }
    return waiting;
  }

  return {
    store,

    /** Read what an earlier page left, and what other tabs keep. */
    load,

    /** Keep a turn before it is sent. */
    async put(unsent: Unsent): Promise<void> {
      if (!held.has(unsent.key)) held.set(unsent.key, tabs.hold(unsent.key));
      store.setState((state) => ({ waiting: [...state.waiting.filter((one) => one.key !== unsent.key), unsent] }));
      await tried(() => shelf.put(unsent.key, unsent));
      tabs.tell({ key: unsent.key, isGone: false });
    },

    /** Let go of a turn that the server has, or that the user gave up. */
    async remove(key: string): Promise<void> {
      letGo(key);
      await tried(() => shelf.remove(key));
      tabs.tell({ key, isGone: true });
    },

    /** Let go of a turn that another tab has seen to its end. */
    forget: letGo,
  };
}

export type Outbox = ReturnType<typeof createOutbox>;
