import { useState } from "react";
import type { Job } from "../../api/types";
import { addressOf } from "../../state/route";
import { Button } from "../parts/Button";
import { When } from "../parts/When";

const KINDS: Record<string, string> = {
  extract: "Learning from a conversation",
  summarise: "Summarising a conversation",
  title: "Naming a conversation",
  embed: "Making texts findable by meaning",
  tidy: "Tidying up",
  fade: "Archiving memories that nobody uses",
  erase_memory: "Erasing a deleted memory",
};
const SHORT = 160;

interface DeadLetterProps {
  job: Job;
  isBusy: boolean;
  onRetry: () => Promise<void>;
}

/** A job that failed too often: why, and trying it again. */
export function DeadLetter({ job, isBusy, onRetry }: DeadLetterProps) {
  const [isRetrying, setRetrying] = useState(false);
  const name = KINDS[job.kind] ?? job.kind;
  const retry = async () => {
    setRetrying(true);
    await onRetry();
    setRetrying(false);
  };
  return (
    <li className="flex flex-wrap items-start gap-x-4 gap-y-2 py-3 text-sm">
      <div className="min-w-0 flex-1 basis-64">
        <p className="font-medium">{name}</p>
        <p className="text-soft text-xs">
          Tried {job.attempts} {job.attempts === 1 ? "time" : "times"}, the last <When at={job.updated_at} />
          {job.conversation_id !== null && (
            <>
              {" · "}
              <a
                className="text-accent underline underline-offset-2"
                href={addressOf({ page: "conversation", id: job.conversation_id })}
              >
                its conversation
              </a>
            </>
          )}
        </p>
        <Failure text={job.error} />
      </div>
      <Button disabled={isBusy || isRetrying} aria-label={`Retry: ${name}`} onClick={() => void retry()}>
        {isRetrying ? "Retrying…" : "Retry"}
      </Button>
    </li>
  );
}

function Failure({ text }: { text: string | null }) {
  if (!text) return <p className="mt-1 text-soft">No reason was noted.</p>;
  const shown = "whitespace-pre-wrap [overflow-wrap:anywhere]";
  if (text.length <= SHORT) return <p className={`mt-1 ${shown}`}>{text}</p>;
  return (
    <details className="group/failure mt-1">
      <summary className={`min-h-6 pointer-coarse:min-h-11 ${shown}`}>
        <span className="group-open/failure:hidden">{text.slice(0, SHORT)}… </span>
        <span className="text-accent underline underline-offset-2 group-open/failure:hidden">whole error</span>
        <span className="hidden text-accent underline underline-offset-2 group-open/failure:inline">shorter</span>
      </summary>
      <pre className={`mt-1 rounded-control bg-sunken p-3 font-mono text-xs ${shown}`}>{text}</pre>
    </details>
  );
}
