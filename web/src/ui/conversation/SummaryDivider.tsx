import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Message, MessagePage } from "../../api/types";
import { useApp } from "../../app/AppContext";
import { ChevronDownIcon } from "../icons";
import { Button } from "../parts/Button";
import { Skeleton } from "../parts/Skeleton";
import { Markdown } from "./Markdown";

/** Where a summary stands for what is above it: the model reads the summary, a person may read both. */
export function SummaryDivider({ message }: { message: Message }) {
  const [isOpen, setOpen] = useState(false);
  const [isExpanded, setExpanded] = useState(false);
  const summaryId = message.metadata.summary_metadata_id;
  return (
    <div className="pb-5">
      <div className="flex items-center gap-3">
        <div className="h-px flex-1 bg-line" />
        <button
          type="button"
          aria-expanded={isOpen}
          className="target flex items-center gap-1.5 rounded-full border border-line bg-surface px-3 py-1 text-soft text-xs hover:text-ink"
          onClick={() => setOpen(!isOpen)}
        >
          Summarised up to here
          <ChevronDownIcon className={`size-3.5 transition-transform ${isOpen ? "rotate-180" : ""}`} />
        </button>
        <div className="h-px flex-1 bg-line" />
      </div>
      {isOpen && (
        <div className="mt-3 rounded-panel border border-line bg-page px-4 py-3 text-sm">
          <Markdown text={message.content} />
          {typeof summaryId === "string" && (
            <Button
              look="quiet"
              className="-ml-3 mt-2"
              aria-expanded={isExpanded}
              onClick={() => setExpanded(!isExpanded)}
            >
              {isExpanded ? "Hide what it stands for" : "Show what it stands for"}
            </Button>
          )}
          {isExpanded && typeof summaryId === "string" && (
            <Originals conversationId={message.conversation_id} summaryId={summaryId} />
          )}
        </div>
      )}
    </div>
  );
}

const NAMES: Record<Message["role"], string> = {
  user: "You",
  assistant: "Assistant",
  system: "System",
  tool: "Tool",
  summary: "Earlier summary",
};

function Originals({ conversationId, summaryId }: { conversationId: string; summaryId: string }) {
  const { client } = useApp();
  const path = `/api/conversations/${encodeURIComponent(conversationId)}/messages`;
  const pages = useInfiniteQuery({
    queryKey: ["summary", conversationId, summaryId],
    queryFn: ({ pageParam }) => client.get<MessagePage>(path, { query: { expand: summaryId, after: pageParam } }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });
  const messages = pages.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <ol className="mt-1 flex flex-col gap-2 border-line border-l-2 pl-3">
      {pages.isLoading && <Skeleton className="h-16" />}
      {pages.error && <li className="text-soft">{pages.error.message}</li>}
      {messages.map((one) => (
        <li key={`${one.role} ${one.id}`}>
          <span className="text-soft text-xs">{NAMES[one.role]}</span>
          <p className="line-clamp-6 whitespace-pre-wrap break-words">{one.content}</p>
        </li>
      ))}
      {pages.hasNextPage && (
        <li>
          <Button disabled={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
            More
          </Button>
        </li>
      )}
    </ol>
  );
}
