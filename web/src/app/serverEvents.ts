import type { QueryClient } from "@tanstack/react-query";
import { sleep } from "../api/chat";
import type { Client } from "../api/client";
import { readEvents, type ServerEvent } from "../api/events";
import type { Archive } from "../state/archive";
import type { ConversationStore } from "../state/conversation";
import type { Notices } from "../state/notices";
import { SETTINGS_KEY } from "./compose";
import type { ConversationActions } from "./conversationActions";

interface Parts {
  client: Client;
  queries: QueryClient;
  conversation: ConversationStore;
  archive: Archive;
  actions: ConversationActions;
  notices: Notices;
}

const FIRST_WAIT = 1_000;
const LONGEST_WAIT = 30_000;
/** Events come in bursts; one reading serves all of one. */
const TOGETHER = 400;

/**
 * Show what other tabs, devices and jobs change.
 *
 * A browser has few connections to a server, so a hidden page gives its own back and reads again when it is seen.
 */
export function listen(document: Document, parts: Parts): void {
  let listening: AbortController | null = null;
  let isFirst = true;
  const update = () => {
    if (document.visibilityState === "hidden") {
      listening?.abort();
      listening = null;
    } else if (!listening) {
      listening = new AbortController();
      void keepListening(parts, listening.signal, isFirst);
      isFirst = false;
    }
  };
  document.addEventListener("visibilitychange", update);
  update();
}

async function keepListening(parts: Parts, signal: AbortSignal, isNew: boolean): Promise<void> {
  const tell = createTeller(parts);
  let wait = FIRST_WAIT;
  let isFirst = isNew;
  while (!signal.aborted) {
    try {
      const answer = await parts.client.answer("GET", "/api/events", { accept: "text/event-stream", signal });
      wait = FIRST_WAIT;
      if (!isFirst) {
        tell("overflow");
        takeUpAgain(parts);
      }
      if (answer.body) for await (const event of readEvents(answer.body)) tell(event.event, idOf(event));
    } catch {
      // Away or refused; the pages themselves say so where it matters.
    }
    isFirst = false;
    await sleep(wait, signal).catch(() => undefined);
    wait = Math.min(wait * 2, LONGEST_WAIT);
  }
}

/** Do what could not be done while the server was away. */
function takeUpAgain({ conversation, archive }: Parts): void {
  void archive.flush();
  const { id, pending, problem, conversation: opened, messages } = conversation.store.getState();
  if (pending) {
    if (pending.problem?.isPassing) void conversation.retry();
  } else if (problem?.isPassing && !opened && !messages.length) void conversation.open(id);
}

/** Collect what events ask for, and do it once per burst. */
function createTeller({ queries, conversation, actions, notices }: Parts) {
  const kinds = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | null = null;
  let learned = 0;

  const act = () => {
    timer = null;
    const isAll = kinds.has("overflow");
    if (isAll || kinds.has("conversation")) void actions.refreshLists();
    if (isAll || kinds.has("memory")) void queries.invalidateQueries({ queryKey: ["memories"] });
    if (isAll || kinds.has("notes")) void queries.invalidateQueries({ queryKey: ["notes"] });
    if (isAll || kinds.has("job")) void queries.invalidateQueries({ queryKey: ["jobs"] });
    // It counts all of these.
    void queries.invalidateQueries({ queryKey: ["overview"] });
    if (isAll || kinds.has("settings")) void queries.invalidateQueries({ queryKey: SETTINGS_KEY });
    if (isAll || kinds.has("visible")) {
      const { draft, isTemporary, conversation: stored } = conversation.store.getState();
      if (stored && !draft && !isTemporary) void conversation.refresh();
      void queries.invalidateQueries({ queryKey: ["usage"] });
    }
    if (learned)
      notices.tell(learned === 1 ? "Memory updated" : `${learned} memories updated`, { milliseconds: 3_000 });
    kinds.clear();
    learned = 0;
  };

  return (event: string, id: string | null = null) => {
    const kind = event.split(".")[0] ?? "";
    kinds.add(kind);
    if (kind === "conversation" && id === conversation.store.getState().id) kinds.add("visible");
    if (event === "memory.created") learned += 1;
    if (timer === null) timer = setTimeout(act, TOGETHER);
  };
}

function idOf(event: ServerEvent): string | null {
  try {
    const data: unknown = JSON.parse(event.data);
    return typeof data === "object" && data !== null && "id" in data && typeof data.id === "string" ? data.id : null;
  } catch {
    return null;
  }
}
