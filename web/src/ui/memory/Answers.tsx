import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { MemoryHit, MessageHit } from "../../api/types";
import { useApp, useStoreOf } from "../../app/AppContext";
import { MEMORIES_KEY } from "../../app/memoryActions";
import type { ListQuery } from "../../state/memoryFilters";
import { momentOf } from "../../state/memoryWords";
import { addressOf } from "../../state/route";
import { SearchIcon } from "../icons";
import { Button } from "../parts/Button";
import { EmptyState } from "../parts/EmptyState";
import { Skeleton } from "../parts/Skeleton";
import { Toggle } from "./FilterPanel";
import { MemoryRow } from "./MemoryRow";

const MOST = 12;

/** What answers a question, the best first, each with why. */
export function Answers({ question, query }: { question: string; query: ListQuery }) {
  const { client, memoryView } = useApp();
  const withMessages = useStoreOf(memoryView.store, (state) => state.withMessages);
  const asked = useMemo(() => searchOf(question, query, withMessages), [question, query, withMessages]);
  const answers = useQuery({
    queryKey: [...MEMORIES_KEY, "answers", asked],
    queryFn: () => client.post<{ items: (MemoryHit | MessageHit)[] }>("/api/memories/search", asked),
    enabled: question !== "",
    placeholderData: (before) => before,
  });
  const items = answers.data?.items ?? [];

  return (
    <>
      <div className="flex min-h-11 flex-wrap items-center justify-between gap-2 border-line border-b px-3 pb-1 text-sm md:px-6">
        <span role="status" className="text-soft">
          {question && answers.isSuccess
            ? `${items.length === 1 ? "1 answer" : `${items.length} answers`}, the best first`
            : ""}
        </span>
        <Toggle label="Also what was said" isOn={withMessages} onChange={memoryView.setWithMessages} />
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto px-2 pb-6 md:px-5">
        {question === "" ? (
          <EmptyState icon={<SearchIcon className="size-6" />} title="Ask what is remembered">
            Answers are found by words and by meaning, as they are for the assistant, and each says why it was found.
          </EmptyState>
        ) : answers.isLoading ? (
          <Skeleton className="m-2 h-24" />
        ) : answers.error ? (
          <div role="alert" className="flex flex-col items-start gap-2 p-2 text-sm text-soft">
            {answers.error.message}
            <Button onClick={() => void answers.refetch()}>Try again</Button>
          </div>
        ) : items.length === 0 ? (
          <EmptyState icon={<SearchIcon className="size-6" />} title="Nothing answers this">
            Ask in other words, take filters away, or look among what was said, too.
          </EmptyState>
        ) : (
          <ol aria-label="Answers">
            {items.map((one) =>
              "memory" in one ? (
                <li key={`memory ${one.memory.id}`}>
                  <MemoryRow memory={one.memory} words="" why={whyOf(one)} />
                </li>
              ) : (
                <li key={`message ${one.message.conversation_id} ${one.message.id}`} className="border-line border-b">
                  <SaidRow hit={one} />
                </li>
              ),
            )}
          </ol>
        )}
      </div>
    </>
  );
}

/** A message that answers; it leads to where it was said. */
function SaidRow({ hit }: { hit: MessageHit }) {
  const { message } = hit;
  return (
    <a
      href={addressOf({ page: "conversation", id: message.conversation_id, messageId: message.id })}
      className="block rounded-control py-2 pr-2 pl-2.5 hover:bg-page"
    >
      <span className="line-clamp-3 break-words">{message.content}</span>
      <span className="mt-1 flex flex-wrap items-center gap-x-2 text-soft text-xs">
        <span className="rounded-full border border-line bg-surface px-2 text-ink">Message</span>
        {message.role === "user" ? "You" : message.role} · {momentOf(message.created_at)}
      </span>
      <span className="mt-0.5 block text-accent text-xs">{whyOf(hit)}</span>
    </a>
  );
}

const whyOf = (hit: MemoryHit | MessageHit) => `Why: ${hit.why} · score ${hit.score.toFixed(2)}`;

/** The filters of the list, as a search takes them. */
function searchOf(text: string, query: ListQuery, messages: boolean) {
  const { type, category, origin, trust, pinned, archived, since, until, as_of } = query;
  const filters = { type, category, origin, trust, pinned, archived, since, until };
  return { query: text, limit: MOST, messages, filters, as_of };
}
