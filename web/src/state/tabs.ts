/** What the tabs of one browser tell each other about the turns that they send. */
export interface Tabs {
  /** Say that this tab sends a turn, until the returned function is called or the tab is gone. */
  hold(key: string): () => void;
  /** The turns that any tab sends at the moment. */
  held(): Promise<ReadonlySet<string>>;
  /** Tell the other tabs that a turn was kept or let go. */
  tell(news: TabNews): void;
  /** Hear what other tabs tell. */
  hear(listener: (news: TabNews) => void): void;
}

export interface TabNews {
  key: string;
  isGone: boolean;
}

/** For a page that knows of no other. */
export const NO_TABS: Tabs = {
  hold: () => () => undefined,
  held: async () => new Set(),
  tell: () => undefined,
  hear: () => undefined,
};

const PREFIX = "recollect.turn.";

/** The tabs of this browser; where it has no locks, as on an unsafe connection, every turn seems to be nobody's. */
export function browserTabs({ navigator, BroadcastChannel }: Window & typeof globalThis): Tabs {
  const locks: LockManager | undefined = navigator.locks;
  const channel = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel("recollect.turns");
  return {
    hold(key) {
      let release: () => void = () => undefined;
      const until = new Promise<void>((resolve) => {
        release = resolve;
      });
      // Several tabs may follow one reply, so that they share it.
      void locks?.request(PREFIX + key, { mode: "shared" }, () => until).catch(() => undefined);
      return release;
    },
    async held() {
      const names = ((await locks?.query())?.held ?? []).map((one) => one.name ?? "");
      return new Set(names.filter((name) => name.startsWith(PREFIX)).map((name) => name.slice(PREFIX.length)));
    },
    tell: (news) => channel?.postMessage(news),
    hear: (listener) => channel?.addEventListener("message", ({ data }) => listener(data as TabNews)),
  };
}
