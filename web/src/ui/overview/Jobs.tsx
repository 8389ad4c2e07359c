import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { asProblem } from "../../api/problem";
import type { Job, JobPage, Overview } from "../../api/types";
import { useApp, useStoreOf } from "../../app/AppContext";
import { createRetryAll, retryPath } from "../../state/overviewRetry";
import { RefreshIcon } from "../icons";
import { Button } from "../parts/Button";
import { ProblemBar } from "../parts/ProblemBar";
import { Card } from "./Card";
import { DeadLetter } from "./DeadLetter";

const STATES = ["queued", "running", "done", "dead"] as const;
const NAMES = { queued: "Queued", running: "Running", done: "Done lately", dead: "Dead letters" } as const;

/** What is done in the background, and what failed too often: its error, and trying it again. */
export function Jobs({ counts }: { counts: Overview["jobs"] }) {
  const { client, notices, queries } = useApp();
  const dead = useInfiniteQuery({
    queryKey: ["jobs", "dead"],
    queryFn: ({ pageParam }) =>
      client.get<JobPage>("/api/jobs", { query: { state: "dead", limit: 20, cursor: pageParam } }),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
  });
  const [retrying] = useState(() => createRetryAll(client));
  const { isRunning, done, problem } = useStoreOf(retrying.store, (state) => state);
  const letters = dead.data?.pages.flatMap((page) => page.items) ?? [];

  const refresh = async () => {
    await Promise.all([
      queries.invalidateQueries({ queryKey: ["jobs"] }),
      queries.invalidateQueries({ queryKey: ["overview"] }),
    ]);
  };
  const retry = async (job: Job) => {
    try {
      await client.post(retryPath(job.id), undefined);
      notices.tell("The job is queued again");
    } catch (error) {
      notices.tell(`The job was not queued again: ${asProblem(error).message}`, { kind: "problem" });
    }
    await refresh();
  };
  const retryAll = async () => {
    const queued = await retrying.run();
    notices.tell(queued === 1 ? "1 job is queued again" : `${queued} jobs are queued again`);
    await refresh();
  };

  return (
    <Card
      title="Jobs"
      tools={
        letters.length > 0 && (
          <Button disabled={isRunning} onClick={() => void retryAll()}>
            <RefreshIcon /> {isRunning ? `Retrying… ${done}` : "Retry all"}
          </Button>
        )
      }
    >
      <dl className="grid grid-cols-2 gap-x-6 gap-y-1 text-sm sm:grid-cols-4">
        {STATES.map((state) => (
          <div key={state} className="flex items-baseline justify-between gap-2 sm:block">
            <dt className="text-soft text-xs">{NAMES[state]}</dt>
            <dd
              className={`font-semibold text-lg tabular-nums ${state === "dead" && counts.dead ? "text-danger" : ""}`}
            >
              {counts[state]}
            </dd>
          </div>
        ))}
      </dl>
      {problem && (
        <div className="mt-3">
          <ProblemBar>Not all were queued again: {problem} Try again in a moment.</ProblemBar>
        </div>
      )}
      {dead.error && (
        <div className="mt-3">
          <ProblemBar actions={<Button onClick={() => void dead.refetch()}>Try again</Button>}>
            The dead letters cannot be read: {dead.error.message}
          </ProblemBar>
        </div>
      )}
      {letters.length > 0 && (
        <ul aria-label="Dead letters" className="mt-3 divide-y divide-line border-line border-t">
          {letters.map((job) => (
            <DeadLetter key={job.id} job={job} isBusy={isRunning} onRetry={() => retry(job)} />
          ))}
        </ul>
      )}
      {dead.data && letters.length === 0 && (
        <p className="mt-3 text-sm text-soft">
          No job has failed for good. One that fails is tried again by itself, and is listed here once it failed too
          often.
        </p>
      )}
      {dead.hasNextPage && (
        <Button className="mt-3" disabled={dead.isFetchingNextPage} onClick={() => void dead.fetchNextPage()}>
          Older ones
        </Button>
      )}
    </Card>
  );
}
