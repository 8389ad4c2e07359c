import type { Outbox } from "./outbox";

/** What of the browser's storage this needs. */
export type TextStorage = Pick<globalThis.Storage, "length" | "key" | "removeItem">;

const PREFIX = "recollect.draft.";

/** Texts that only this browser has: drafts, and turns that the server does not have yet. */
export function createLeaving(storageOf: () => TextStorage, outbox: Pick<Outbox, "store" | "remove">) {
  const drafts = (): string[] => {
    try {
      const storage = storageOf();
      const names = Array.from({ length: storage.length }, (_, at) => storage.key(at) ?? "");
      return names.filter((name) => name.startsWith(PREFIX));
    } catch {
      // A browser that forbids storage throws as soon as it is looked at, and keeps nothing.
      return [];
    }
  };
  return {
    /** Count the texts that would be lost. */
    count: (): number => drafts().length + outbox.store.getState().waiting.length,

    /** Leave nothing behind for whoever uses this browser next. */
    async clear(): Promise<void> {
      for (const name of drafts()) storageOf().removeItem(name);
      for (const { key } of outbox.store.getState().waiting) await outbox.remove(key);
    },
  };
}
