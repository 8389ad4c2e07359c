import { createStore, del, entries, set } from "idb-keyval";

/** Things that outlive the page, each under a name; kept in the order of their names. */
export interface Shelf<T> {
  put(name: string, thing: T): Promise<void>;
  remove(name: string): Promise<void>;
  all(): Promise<[string, T][]>;
}

/** A shelf in the browser's own database, shared by all tabs. */
export function browserShelf<T>(database: string): Shelf<T> {
  const store = createStore(database, "things");
  return {
    put: (name, thing) => set(name, thing, store),
    remove: (name) => del(name, store),
    all: async () => {
      const found = await entries<string, T>(store);
      return found.sort(([one], [other]) => (one < other ? -1 : 1));
    },
  };
}
