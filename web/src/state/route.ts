import { createStore } from "zustand/vanilla";

/** Which page is shown; the address after `#` says so, because the page may be served from any folder. */
export type Route =
  | { page: "start" }
  | { page: "new" }
  | { page: "temporary" }
  | { page: "conversation"; id: string }
  | { page: "memories" }
  | { page: "overview" }
  | { page: "settings" };

const PLAIN = ["new", "temporary", "memories", "overview", "settings"] as const;

/** Read the part of an address from `#` on; whatever is not understood is the start. */
export function routeOf(hash: string): Route {
  const [, first, second] = hash.replace(/^#/, "").split("/");
  if (first === "c" && second) {
    try {
      return { page: "conversation", id: decodeURIComponent(second) };
    } catch {
      return { page: "start" };
    }
  }
  const page = PLAIN.find((one) => one === first);
  return page ? { page } : { page: "start" };
}

/** Write the address of a page. */
export function addressOf(route: Route): string {
  if (route.page === "start") return "#/";
  return route.page === "conversation" ? `#/c/${encodeURIComponent(route.id)}` : `#/${route.page}`;
}

/** What of a window this needs. */
export interface Place {
  location: { hash: string };
  history: { replaceState(data: unknown, unused: string, url: string): void };
  addEventListener(kind: "hashchange", listener: () => void): void;
}

/** Follow the address, and change it. */
export function createRouter(place: Place) {
  const store = createStore<{ route: Route }>(() => ({ route: routeOf(place.location.hash) }));
  // Going somewhere is told twice, by us and then by the browser; only a change of place counts.
  const read = () => {
    const route = routeOf(place.location.hash);
    if (addressOf(route) !== addressOf(store.getState().route)) store.setState({ route });
  };
  place.addEventListener("hashchange", read);
  return {
    store,

    /** Go to a page, or to its beginning if it is shown; going back returns to this one. */
    go(route: Route): void {
      place.location.hash = addressOf(route);
      store.setState({ route });
    },

    /** Call this page by another address. */
    replace(route: Route): void {
      place.history.replaceState(null, "", addressOf(route));
      read();
    },
  };
}

export type Router = ReturnType<typeof createRouter>;
