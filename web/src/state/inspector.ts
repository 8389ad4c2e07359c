import { createStore } from "zustand/vanilla";

/** A prompt that is looked at: the one of a reply, the one that a text would get, or none because nothing is kept. */
export type Inspected =
  | { kind: "reply"; conversationId: string; messageId: string }
  | { kind: "preview"; conversationId: string; text: string }
  | { kind: "temporary"; conversationId: string };

/** Which prompt is looked at. */
export function createInspector() {
  const store = createStore<{ inspected: Inspected | null }>(() => ({ inspected: null }));
  return {
    store,
    inspect: (inspected: Inspected) => store.setState({ inspected }),
    close: () => store.setState({ inspected: null }),
  };
}

export type Inspector = ReturnType<typeof createInspector>;
