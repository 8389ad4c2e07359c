import type { QueryClient } from "@tanstack/react-query";
import type { Client } from "../api/client";
import { asProblem } from "../api/problem";
import type { Conversation } from "../api/types";
import type { Archive } from "../state/archive";
import type { ConversationStore } from "../state/conversation";
import type { Notices } from "../state/notices";
import { type Removals, UNDO_FOR } from "../state/removals";
import type { Router } from "../state/route";
import { createConversationLists } from "./conversationLists";

type Changes = Partial<Pick<Conversation, "title" | "is_pinned" | "is_archived">>;
type Named = Pick<Conversation, "id" | "title">;

interface Parts {
  client: Client;
  queries: QueryClient;
  notices: Notices;
  removals: Removals;
  router: Router;
  conversation: ConversationStore;
  archive: Pick<Archive, "forget">;
}

const path = (id: string) => `/api/conversations/${encodeURIComponent(id)}`;

/** What can be done with a conversation from its row or its header; lists and header show it at once. */
export function createConversationActions(parts: Parts) {
  const { client, queries, notices, removals, router, conversation, archive } = parts;
  const lists = createConversationLists(client, queries);

  async function change(id: string, changes: Changes): Promise<boolean> {
    const before = lists.find(id);
    if (before) lists.show({ ...before, ...changes });
    try {
      const changed = await client.patch<Conversation>(path(id), changes);
      conversation.showConversation(changed);
      lists.show({ ...before, ...changed });
      return true;
    } catch (error) {
      if (before) lists.show(before);
      notices.tell(`Not changed: ${asProblem(error).message}`, { kind: "problem" });
      return false;
    } finally {
      void lists.refresh();
    }
  }

  return {
    refreshLists: lists.refresh,

    rename: (id: string, title: string) => change(id, { title }),
    pin: (id: string, is_pinned: boolean) => change(id, { is_pinned }),

    async archive({ id }: Named, isArchived: boolean): Promise<void> {
      if (!(await change(id, { is_archived: isArchived }))) return;
      const undo = { label: "Undo", act: () => void change(id, { is_archived: !isArchived }) };
      notices.tell(isArchived ? "Conversation archived" : "Conversation restored", { action: undo });
    },

    /** Delete a conversation, and what was learned only from it, once it can no longer be taken back. */
    remove({ id, title }: Named): void {
      const isVisible = conversation.store.getState().id === id;
      if (isVisible) router.go({ page: "new" });
      removals.begin(id, async () => {
        await erase(client, id);
        await archive.forget(id);
        lists.drop(id);
      });
      const undo = {
        label: "Undo",
        act: () => {
          removals.undo(id);
          // Whoever went on meanwhile stays where they are.
          if (isVisible && router.store.getState().route.page === "new") router.go({ page: "conversation", id });
        },
      };
      notices.tell(`Deleted “${shortened(title ?? "Untitled")}”`, { action: undo, milliseconds: UNDO_FOR - 500 });
    },

    exportAddress: (id: string, format: "md" | "json") => `${path(id)}/export?format=${format}`,
  };
}

export type ConversationActions = ReturnType<typeof createConversationActions>;

/** Erase a conversation; one that is gone already, as by another tab, is what was wanted. */
async function erase(client: Client, id: string): Promise<void> {
  try {
    await client.delete(path(id), { outlives: true });
  } catch (error) {
    if (asProblem(error).status !== 404) throw error;
  }
}

function shortened(title: string): string {
  return title.length > 40 ? `${title.slice(0, 39)}…` : title;
}
