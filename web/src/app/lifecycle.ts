import { sleep } from "../api/chat";
import type { Archive } from "../state/archive";
import type { ConversationStore } from "../state/conversation";
import type { Drafts } from "../state/drafts";
import type { Notices } from "../state/notices";
import type { Outbox } from "../state/outbox";
import type { Removals } from "../state/removals";
import type { Route, Router } from "../state/route";
import { NO_TABS, type Tabs } from "../state/tabs";
import type { ConversationActions } from "./conversationActions";

interface Parts {
  archive: Archive;
  outbox: Outbox;
  conversation: ConversationStore;
  removals: Removals;
  router: Router;
  notices: Notices;
  actions: Pick<ConversationActions, "refreshLists">;
  tabs?: Tabs;
  drafts?: Drafts;
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
  { archive, outbox, conversation, removals, router, notices, actions, tabs = NO_TABS, drafts }: Parts,
): Promise<void> {
  browser.addEventListener("pagehide", () => {
    archive.leave();
    void removals.finish();
  });
  // Phones end hidden pages without another word, so hiding counts as leaving; archiving twice is harmless, and a page
  // that is seen again hears whether it worked.
  browser.document.addEventListener("visibilitychange", () => {
    if (browser.document.visibilityState === "hidden") archive.leave();
    else {
      void archive.flush();
      void outbox.load();
    }
  });
  browser.addEventListener("online", () => {
    void archive.flush();
    if (conversation.store.getState().pending?.problem?.isPassing) void conversation.retry();
  });

  // A turn moves its conversation to the top of the list.
  conversation.store.subscribe((now, before) => {
    if (before.draft && !now.draft) void actions.refreshLists();
  });

  tabs.hear(({ key, isGone }) => {
    if (!isGone) void outbox.load();
    else {
      outbox.forget(key);
      const { pending } = conversation.store.getState();
      if (pending?.key === key && pending.problem) void conversation.discard().then(() => conversation.refresh());
    }
  });

  const follow = (route: Route) => void show(route, { outbox, conversation, router, notices });
  const { route: first } = router.store.getState();
  const isNew = first.page === "new" || first.page === "temporary";
  // Something new needs nothing that earlier pages left, and beginning it later would take away what is typed meanwhile.
  if (isNew) follow(first);
  else takeDraftAlong(conversation, drafts);

  await outbox.load();
  // What an earlier page left is part of what this one shows; a server that does not answer does not hold it up.
  await Promise.race([archive.load(), sleep(LONGEST_WAIT)]);
  router.store.subscribe((now, before) => {
    if (now.route !== before.route) follow(now.route);
  });
  const { route } = router.store.getState();
  if (!isNew || route !== first) follow(route);
}

/** What is typed before the first conversation is open is meant for it. */
function takeDraftAlong({ store }: ConversationStore, drafts: Drafts | undefined): void {
  const stop = store.subscribe((now, before) => {
    if (now.id === before.id) return;
    stop();
    drafts?.move(before.id, now.id);
  });
}

/** Bring the visible conversation to what the address says. */
async function show(
  route: Route,
  { outbox, conversation, router, notices }: Pick<Parts, "outbox" | "conversation" | "router" | "notices">,
): Promise<void> {
  switch (route.page) {
    case "start": {
      const { waiting, elsewhere } = outbox.store.getState();
      const unsent = waiting.findLast((one) => !elsewhere.has(one.key));
      if (unsent) return router.replace({ page: "conversation", id: unsent.conversationId });
      await conversation.openCurrent();
      const { conversation: opened } = conversation.store.getState();
      if (opened && router.store.getState().route.page === "start")
        router.replace({ page: "conversation", id: opened.id });
      return;
    }
    case "conversation":
      if (route.messageId) {
        const head = await conversation.openAt(route.id, route.messageId, route.quote);
        if (head) tellOfBranch(head, { conversation, notices });
      } else if (conversation.store.getState().id !== route.id) await conversation.open(route.id);
      // The one that is shown is either loaded or new: its first turn gave it this address.
      else await conversation.leaveTarget();
      return;
    case "new":
      return conversation.begin();
    case "temporary":
      return conversation.begin(true);
  }
}

/** A message that was left behind by an edit is on a branch that is not the one one was on. */
function tellOfBranch(head: string, { conversation, notices }: Pick<Parts, "conversation" | "notices">): void {
  const act = () => void conversation.returnTo(head).catch(() => notices.tell("Not changed", { kind: "problem" }));
  notices.tell("This message is on another branch, which is shown now", {
    action: { label: "Go back", act },
    milliseconds: 12_000,
  });
}
