import { createStore } from "zustand/vanilla";

/** Something that the user is told in passing. */
export interface Notice {
  id: number;
  text: string;
  kind: "calm" | "problem";
  /** What can be done about it, such as undoing. */
  action: { label: string; act: () => void } | null;
}

export interface NoticeOptions {
  kind?: Notice["kind"];
  action?: Notice["action"];
  /** How long it stays; one with an action must be readable and reachable. */
  milliseconds?: number;
}

export const SHOWN_FOR = 5_000;
const AT_ONCE = 3;

/** Tell the user things without interrupting. */
export function createNotices() {
  const store = createStore<{ notices: Notice[] }>(() => ({ notices: [] }));
  let last = 0;

  const dismiss = (id: number) =>
    store.setState((state) => ({ notices: state.notices.filter((one) => one.id !== id) }));

  return {
    store,
    dismiss,

    /** Do what the newest notice offers, such as undoing; false if none offers anything. */
    undo(): boolean {
      const newest = store.getState().notices.findLast((one) => one.action !== null);
      if (!newest) return false;
      newest.action?.act();
      dismiss(newest.id);
      return true;
    },

    tell(text: string, { kind = "calm", action = null, milliseconds = SHOWN_FOR }: NoticeOptions = {}): number {
      const id = ++last;
      store.setState((state) => ({ notices: [...state.notices, { id, text, kind, action }].slice(-AT_ONCE) }));
      setTimeout(() => dismiss(id), milliseconds);
      return id;
    },
  };
}

export type Notices = ReturnType<typeof createNotices>;
