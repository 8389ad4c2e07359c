import { createStore } from "zustand/vanilla";
import type { Client } from "../api/client";
import { asProblem } from "../api/problem";
import type { JobPage } from "../api/types";

export interface RetryState {
  isRunning: boolean;
  /** How many jobs were queued again so far. */
  done: number;
  problem: string | null;
}

const AT_ONCE = 100;
/** Gone, or queued again by somebody else: either is what was wanted. */
const SETTLED = [404, 409];

export const retryPath = (id: string) => `/api/jobs/${encodeURIComponent(id)}/retry`;

/** Queue all dead letters again, however many there are. */
export function createRetryAll(client: Client) {
  const store = createStore<RetryState>(() => ({ isRunning: false, done: 0, problem: null }));

  async function retry(id: string): Promise<void> {
    try {
      await client.post(retryPath(id), undefined);
      store.setState(({ done }) => ({ done: done + 1 }));
    } catch (error) {
      if (!SETTLED.includes(asProblem(error).status)) throw error;
    }
  }

  return {
    store,

    /** Queue them again; a job that dies meanwhile is not tried twice. Return how many were queued. */
    async run(): Promise<number> {
      if (store.getState().isRunning) return 0;
      store.setState({ isRunning: true, done: 0, problem: null });
      try {
        let cursor: string | null = null;
        do {
          const page: JobPage = await client.get<JobPage>("/api/jobs", {
            query: { state: "dead", limit: AT_ONCE, cursor },
          });
          for (const { id } of page.items) await retry(id);
          cursor = page.next;
        } while (cursor !== null);
      } catch (error) {
        store.setState({ problem: asProblem(error).message });
      } finally {
        store.setState({ isRunning: false });
      }
      return store.getState().done;
    },
  };
}
