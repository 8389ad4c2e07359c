import { createStore } from "zustand/vanilla";

/** What of the memories is listed beside all of them. */
export type MemoryTab = "review" | "archived" | "notes";

/** Which page is shown; the address after `#` says so, because the page may be served from any folder. */
export type Route =
  | { page: "start" }
  | { page: "new" }
  | { page: "temporary" }
  | { page: "conversation"; id: string; messageId?: string; quote?: string }
  | { page: "memories"; memoryId?: string; tab?: MemoryTab }
  | { page: "overview" }
  | { page: "settings" };

const PLAIN = ["new", "temporary", "overview", "settings"] as const;
const TABS = ["review", "archived", "notes"] as const;

/** Read the part of an address from `#` on; whatever is not understood is the start. */
export function routeOf(hash: string): Route {
  try {
    return readRoute(hash);
  } catch {
    return { page: "start" };
  }
}

/** Read an address; one that is no text throws. */
function readRoute(hash: string): Route {
  const [path = "", query] = hash.replace(/^#/, "").split("?");
  const [, first, second, third, fourth] = path.split("/").map(decodeURIComponent);
  const asked = new URLSearchParams(query);
  if (first === "c" && second) {
    if (third !== "m" || !fourth) return { page: "conversation", id: second };
    const quote = asked.get("quote");
    return { page: "conversation", id: second, messageId: fourth, ...(quote && { quote }) };
  }
  if (first === "memories") {
    const tab = TABS.find((one) => one === asked.get("tab"));
    return { page: "memories", ...(second && { memoryId: second }), ...(tab && { tab }) };
  }
  const page = PLAIN.find((one) => one === first);
  return page ? { page } : { page: "start" };
}

/** Write the address of a page. */
export function addressOf(route: Route): string {
  switch (route.page) {
    case "start":
      return "#/";
    case "conversation": {
      const message = route.messageId ? `/m/${encodeURIComponent(route.messageId)}` : "";
      const quote = route.messageId && route.quote ? `?${new URLSearchParams({ quote: route.quote })}` : "";
      return `#/c/${encodeURIComponent(route.id)}${message}${quote}`;
    }
    case "memories":
      return `#/memories${route.memoryId ? `/${encodeURIComponent(route.memoryId)}` : ""}${route.tab ? `?tab=${route.tab}` : ""}`;
    default:
      return `#/${route.page}`;
  }
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
