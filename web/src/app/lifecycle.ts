import { sleep } from "../api/chat";
import type { Archive } from "../state/archive";
import type { ConversationStore } from "../state/conversation";
import type { Outbox } from "../state/outbox";
import type { Removals } from "../state/removals";
import type { Route, Router } from "../state/route";
import type { ConversationActions } from "./conversationActions";

interface Parts {
  archive: Archive;
  outbox: Outbox;
  conversation: ConversationStore;
  removals: Removals;
  router: Router;
  actions: Pick<ConversationActions, "refreshLists">;
}

const LONGEST_WAIT = 2_000;

/** What of the browser this needs. */
export interface Browser {
  addEventListener(kind: "pagehide" | "online", listener: () => void): void;
  document: {
    visibilityState: DocumentVisibilityState;
    addEventListener(kind: "visibilitychange", listener: () => void): void;
  };
}

/** Tie the stores to the life of the page: what earlier pages left is read first, and nothing is lost when it goes. */
export async function live(
  browser: Browser,
  { archive, outbox, conversation, removals, router, actions }: Parts,
): Promise<void> {
  browser.addEventListener("pagehide", () => {
    archive.leave();
    void removals.finish();
  });
  // Phones end hidden pages without another word, so hiding counts as leaving; archiving twice is harmless.
  browser.document.addEventListener("visibilitychange", () => {
    if (browser.document.visibilityState === "hidden") archive.leave();
  });
  browser.addEventListener("online", () => {
    void archive.flush();
    if (conversation.store.getState().pending?.problem?.isPassing) void conversation.retry();
  });

  // A turn moves its conversation to the top of the list.
  conversation.store.subscribe((now, before) => {
    if (before.draft && !now.draft) void actions.refreshLists();
  });

  await outbox.load();
  // What an earlier page left is part of what this one shows; a server that does not answer does not hold it up.
  await Promise.race([archive.load(), sleep(LONGEST_WAIT)]);
  const follow = (route: Route) => void show(route, { outbox, conversation, router });
  router.store.subscribe((now, before) => {
    if (now.route !== before.route) follow(now.route);
  });
  follow(router.store.getState().route);
}

/** Bring the visible conversation to what the address says. */
async function show(
  route: Route,
  { outbox, conversation, router }: Pick<Parts, "outbox" | "conversation" | "router">,
): Promise<void> {
  switch (route.page) {
    case "start": {
      const unsent = outbox.store.getState().waiting.at(-1);
      if (unsent) return router.replace({ page: "conversation", id: unsent.conversationId });
      await conversation.openCurrent();
      const { conversation: opened } = conversation.store.getState();
      if (opened && router.store.getState().route.page === "start")
        router.replace({ page: "conversation", id: opened.id });
      return;
    }
    case "conversation":
      // The one that is shown is either loaded or new: its first turn gave it this address.
      if (conversation.store.getState().id !== route.id) await conversation.open(route.id);
      return;
    case "new":
      return conversation.begin();
    case "temporary":
      return conversation.begin(true);
  }
}
