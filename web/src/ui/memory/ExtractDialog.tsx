import { useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { asProblem } from "../../api/problem";
import type { ConversationPage, Job, MemoryPage } from "../../api/types";
import { useApp } from "../../app/AppContext";
import { MEMORIES_KEY } from "../../app/memoryActions";
import { memoriesCount, TYPES } from "../../state/memoryWords";
import { addressOf } from "../../state/route";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Skeleton } from "../parts/Skeleton";
import { Select } from "./Select";

interface ExtractDialogProps {
  /** The conversation to learn from; without one it is chosen, the newest first. */
  conversation?: { id: string; title: string | null };
  onClose: () => void;
}

/** Learn from what is new in a conversation, and see how far it is. */
export default function ExtractDialog({ conversation, onClose }: ExtractDialogProps) {
  const { client } = useApp();
  const [chosen, setChosen] = useState(conversation?.id ?? "");
  const [job, setJob] = useState<Job | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const isAsked = useRef(false);
  const newest = useQuery({
    queryKey: ["conversations to extract from"],
    queryFn: () => client.get<ConversationPage>("/api/conversations", { query: { limit: 20 } }),
    enabled: !conversation,
    staleTime: 0,
  });
  const offered = newest.data?.items ?? [];
  const id = chosen || (offered[0]?.id ?? "");

  const begin = async (work: () => Promise<{ job: Job }>) => {
    if (isAsked.current) return;
    isAsked.current = true;
    setProblem(null);
    try {
      setJob((await work()).job);
    } catch (error) {
      setProblem(asProblem(error).message);
    } finally {
      isAsked.current = false;
    }
  };
  const extract = () => begin(() => client.post("/api/memories/extract", { conversation_id: id }));
  const retry = (dead: Job) => begin(() => client.post(`/api/jobs/${encodeURIComponent(dead.id)}/retry`, {}));

  return (
    <Dialog
      isOpen
      onOpenChange={(isOpen) => !isOpen && onClose()}
      title={conversation ? "Extract from this conversation" : "Extract from a conversation"}
      description="Lasting statements are read out of its messages. Each message is learned from once, so only what is new is read."
    >
      <div className="mt-4 flex flex-col gap-4">
        {!conversation && !job && newest.isLoading && <Skeleton className="h-14" />}
        {!conversation && !job && newest.isSuccess && offered.length === 0 && (
          <p className="text-sm text-soft">There is no conversation yet.</p>
        )}
        {!conversation && !job && offered.length > 0 && (
          <Select
            label="Conversation"
            value={id}
            options={offered.map((one) => [one.id, one.title || "Untitled"] as const)}
            onChange={setChosen}
          />
        )}
        {job && <Underway key={`${job.id} ${job.updated_at}`} begun={job} onRetry={retry} onLeave={onClose} />}
        {(problem ?? newest.error) && (
          <p role="alert" className="text-danger text-sm">
            {problem ?? newest.error?.message}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Close</Button>
          {!job && (
            <Button look="solid" disabled={!id} onClick={() => void extract()}>
              Extract
            </Button>
          )}
        </div>
      </div>
    </Dialog>
  );
}

const ASKED_EVERY = 800;

interface UnderwayProps {
  begun: Job;
  onRetry: (dead: Job) => void;
  onLeave: () => void;
}

/** How far the work is; it goes on when this is closed. */
function Underway({ begun, onRetry, onLeave }: UnderwayProps) {
  const { client } = useApp();
  const read = useQuery({
    queryKey: ["jobs", begun.id],
    queryFn: () => client.get<Job>(`/api/jobs/${encodeURIComponent(begun.id)}`),
    initialData: begun,
    staleTime: 0,
    refetchInterval: ({ state }) => (isEnded(state.data) ? false : ASKED_EVERY),
  });
  const job = read.data;
  if (job.state === "done") return <Learned job={job} since={begun.updated_at} onLeave={onLeave} />;
  if (job.state === "dead") {
    return (
      <div role="alert" className="flex flex-col items-start gap-2 text-sm">
        <p>It did not work after {job.attempts} attempts.</p>
        {job.error && (
          <pre className="max-h-40 w-full overflow-auto whitespace-pre-wrap rounded-control bg-sunken p-2 text-xs">
            {job.error}
          </pre>
        )}
        <Button onClick={() => onRetry(job)}>Try again</Button>
      </div>
    );
  }
  const isAgain = job.state === "queued" && job.attempts > 0;
  return (
    <div className="flex flex-col gap-2 text-sm">
      <span role="status">
        {job.state === "running"
          ? "Reading the messages…"
          : isAgain
            ? `Attempt ${job.attempts} of ${job.max_attempts} failed; it is tried again by itself.`
            : "Waiting for a worker…"}
      </span>
      <progress aria-label="Extracting" className="h-2 w-full accent-accent" />
      {isAgain && job.error && <p className="line-clamp-3 break-words text-soft text-xs">{job.error}</p>}
      {read.error && <p className="text-soft text-xs">{read.error.message}</p>}
      <p className="text-soft text-xs">You can close this; the work goes on.</p>
    </div>
  );
}

const isEnded = (job: Job | undefined) => job?.state === "done" || job?.state === "dead";

/** What the work found, and what was known from there before. */
function Learned({ job, since, onLeave }: { job: Job; since: string; onLeave: () => void }) {
  const { client } = useApp();
  const found = useQuery({
    queryKey: [...MEMORIES_KEY, "learned", job.id],
    queryFn: () =>
      client.get<MemoryPage>("/api/memories", { query: { conversation_id: job.conversation_id, limit: 200 } }),
    staleTime: 0,
  });
  if (found.error) return <p className="text-sm">It is done. {found.error.message}</p>;
  if (!found.data) return <Skeleton className="h-16" />;
  const { items } = found.data;
  const fresh = items.filter((one) => one.updated_at >= since);
  return (
    <div className="flex flex-col gap-2 text-sm">
      <p role="status">
        {fresh.length
          ? `${memoriesCount(fresh.length)} learned or changed.`
          : "Nothing new was found. What was learned before is not learned again."}
      </p>
      {items.length > 0 && <h3 className="text-soft text-xs">Remembered from this conversation</h3>}
      <ul className="flex max-h-[40dvh] flex-col gap-1 overflow-y-auto">
        {items.map((one) => (
          <li key={one.id}>
            <a
              className="block break-words rounded-control px-2 py-1.5 hover:bg-sunken"
              href={addressOf({ page: "memories", memoryId: one.id })}
              onClick={onLeave}
            >
              <span className="mr-1.5 text-soft text-xs">{TYPES[one.memory_type]}</span>
              {one.content}
              {fresh.includes(one) && <span className="ml-1.5 font-medium text-accent text-xs">new</span>}
            </a>
          </li>
        ))}
      </ul>
    </div>
  );
}
