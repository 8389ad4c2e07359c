/** What of the browser's storage this needs. */
export type Storage = Pick<globalThis.Storage, "getItem" | "setItem" | "removeItem">;

const PREFIX = "recollect.draft.";

/** Keep what is typed but not sent, per conversation; a browser that keeps nothing loses it with the page. */
export function createDrafts(storage: Storage | null) {
  const held = new Map<string, string>();
  const drafts = {
    get(conversationId: string): string {
      const here = held.get(conversationId);
      if (here !== undefined) return here;
      try {
        return storage?.getItem(PREFIX + conversationId) ?? "";
      } catch {
        return "";
      }
    },

    /** Keep a draft; a temporary conversation's stays in this page. */
    set(conversationId: string, text: string, isTemporary = false): void {
      held.set(conversationId, text);
      if (isTemporary) return;
      try {
        if (text) storage?.setItem(PREFIX + conversationId, text);
        else storage?.removeItem(PREFIX + conversationId);
      } catch {
        // The storage is full or forbidden; the page itself still has it.
      }
    },

    /** Take what was typed along to another conversation that has no draft yet. */
    move(from: string, to: string): void {
      const text = drafts.get(from);
      if (!text || drafts.get(to)) return;
      drafts.set(to, text);
      drafts.set(from, "");
    },
  };
  return drafts;
}

export type Drafts = ReturnType<typeof createDrafts>;
