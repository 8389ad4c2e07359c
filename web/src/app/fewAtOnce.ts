import { sleep } from "../api/chat";
import { asProblem, type Problem } from "../api/problem";

/** Requests at once, when something is done with many. */
const AT_ONCE = 4;
const MOST_TRIES = 5;

/** What was done with several: how many, and the first reason why others were left as they were. */
interface Done {
  done: string[];
  problem: Problem | null;
}

export type Progress = (done: number, of: number) => void;

/** Do something with each, a few at a time; what fails is left, and a server that is busy is asked again. */
export async function each(
  ids: readonly string[],
  act: (id: string) => Promise<void>,
  progress?: Progress,
): Promise<Done> {
  const waiting = [...ids];
  const done: string[] = [];
  let problem: Problem | null = null;
  const work = async () => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      try {
        await patiently(act, id);
        done.push(id);
      } catch (error) {
        problem ??= asProblem(error);
      }
      progress?.(done.length, ids.length);
    }
  };
  progress?.(0, ids.length);
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { done, problem };
}

async function patiently(act: (id: string) => Promise<void>, id: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await act(id);
    } catch (error) {
      const { status } = asProblem(error);
      if (tries === MOST_TRIES || (status !== 429 && status !== 503)) throw error;
      await sleep(500 * tries);
    }
  }
}
