import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Context } from "../../api/types";
import { useApp } from "../../app/AppContext";
import type { Inspected } from "../../state/inspector";
import { promptText } from "../../state/promptParts";
import { CheckIcon, CopyIcon, EyeIcon, GhostIcon } from "../icons";
import { Button } from "../parts/Button";
import { EmptyState } from "../parts/EmptyState";
import { Skeleton } from "../parts/Skeleton";
import { LeftOut } from "./LeftOut";
import { PromptBlocks } from "./PromptBlocks";
import { TokenBar } from "./TokenBar";

/** A prompt: what it costs, what it is made of, what was left out. */
export function InspectedPrompt({ inspected }: { inspected: Inspected }) {
  if (inspected.kind === "temporary") {
    return (
      <EmptyState icon={<GhostIcon className="size-6" />} title="Nothing is kept here">
        The model saw the system prompt and what was said on this page, and nothing that is known about you. A temporary
        conversation keeps no record of it.
      </EmptyState>
    );
  }
  return <KeptPrompt inspected={inspected} />;
}

function KeptPrompt({ inspected }: { inspected: Exclude<Inspected, { kind: "temporary" }> }) {
  const { client } = useApp();
  const { conversationId } = inspected;
  const query = inspected.kind === "reply" ? { message_id: inspected.messageId } : { query: inspected.text };
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ["context", inspected],
    queryFn: ({ signal }) =>
      client.get<Context>(`/api/conversations/${encodeURIComponent(conversationId)}/context`, { query, signal }),
    // What was told does not change, but what of it is still there does; a preview is of this moment.
    staleTime: 0,
    gcTime: 60_000,
  });
  if (isPending) {
    return (
      <div role="status" aria-label="The prompt is being read" className="flex flex-col gap-3">
        <Skeleton className="h-10" />
        <Skeleton className="h-24" />
        <Skeleton className="h-40" />
      </div>
    );
  }
  if (!data) {
    const isMissing = "status" in error && error.status === 404;
    return (
      <EmptyState icon={<EyeIcon className="size-6" />} title={isMissing ? "There is no record" : "Not read"}>
        <p>{error.message}</p>
        {!isMissing && (
          <Button className="mt-4" onClick={() => void refetch()}>
            Try again
          </Button>
        )}
      </EmptyState>
    );
  }
  return (
    <div className="flex flex-col gap-4">
      <TokenBar context={data} />
      <PromptBlocks context={data} conversationId={conversationId} />
      <LeftOut context={data} conversationId={conversationId} />
      <CopyPrompt context={data} />
    </div>
  );
}

function CopyPrompt({ context }: { context: Context }) {
  const { notices } = useApp();
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(promptText(context));
      setCopied(true);
    } catch {
      notices.tell("This browser does not allow copying", { kind: "problem" });
    }
  };
  return (
    <Button onClick={() => void copy()} onBlur={() => setCopied(false)}>
      {isCopied ? <CheckIcon className="size-4" /> : <CopyIcon className="size-4" />}
      {isCopied ? "Copied" : "Copy prompt"}
    </Button>
  );
}
