import { useInfiniteQuery } from "@tanstack/react-query";
import type { MemoryHistory as History, Memory } from "../../api/types";
import { useApp } from "../../app/AppContext";
import { historyKey } from "../../app/memoryActions";
import { type Happening, timelineOf } from "../../state/memoryTimeline";
import { momentOf, validityOf } from "../../state/memoryWords";
import { addressOf } from "../../state/route";
import { Button } from "../parts/Button";
import { Skeleton } from "../parts/Skeleton";
import { useMemories } from "./MemoryContext";

/** Where a memory comes from, and what became of it. */
export function MemoryHistory({ memory }: { memory: Memory }) {
  const { client } = useApp();
  const { actions } = useMemories();
  const history = useInfiniteQuery({
    queryKey: historyKey(memory.id),
    queryFn: ({ pageParam }) =>
      client.get<History>(`/api/memories/${encodeURIComponent(memory.id)}/history`, { query: { cursor: pageParam } }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });
  const pages = history.data?.pages ?? [];
  const [first] = pages;
  if (history.error) {
    return (
      <p role="alert" className="text-sm text-soft">
        What became of it cannot be read: {history.error.message}
      </p>
    );
  }
  if (!first) return <Skeleton className="h-24" />;
  const items = pages.flatMap((page) => page.items);
  const timeline = timelineOf(memory, { items, values: first.values });
  return (
    <>
      <Sources memory={memory} sources={first.sources} />
      <section aria-labelledby="memory-timeline">
        <div className="mb-2 flex items-center justify-between">
          <h3 id="memory-timeline" className="font-medium text-sm">
            Timeline
          </h3>
          {items.length > 0 && (
            <Button look="quiet" onClick={() => void actions.undo([memory.id])}>
              Undo the last change
            </Button>
          )}
        </div>
        <ol className="flex flex-col">
          {timeline.map((one, at) => (
            <Event key={one.key} one={one} memory={memory} values={first.values} isLast={at === timeline.length - 1} />
          ))}
        </ol>
        {history.hasNextPage && (
          <Button disabled={history.isFetchingNextPage} onClick={() => void history.fetchNextPage()}>
            Earlier changes
          </Button>
        )}
      </section>
    </>
  );
}

function Sources({ memory, sources }: { memory: Memory; sources: History["sources"] }) {
  if (sources.length === 0 && !memory.quote) return null;
  return (
    <section aria-labelledby="memory-sources">
      <h3 id="memory-sources" className="mb-2 font-medium text-sm">
        {sources.length > 1 ? `Said in ${sources.length} messages` : "Said in"}
      </h3>
      {memory.quote && (
        <blockquote className="mb-2 border-accent/40 border-l-2 pl-3">
          <mark className="box-decoration-clone px-1 py-px">{memory.quote}</mark>
        </blockquote>
      )}
      <ul className="flex flex-wrap gap-2">
        {sources.map((source, at) => (
          <li key={`${source.conversation_id} ${source.message_id}`}>
            <a
              className="target inline-flex items-center rounded-control border border-line px-2.5 py-1 text-accent text-sm hover:bg-sunken"
              href={addressOf({
                page: "conversation",
                id: source.conversation_id,
                messageId: source.message_id,
                ...(memory.quote && { quote: memory.quote }),
              })}
            >
              {sources.length > 1 ? `Message ${at + 1}` : "Show the message"}
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

const DOTS: Record<Happening["kind"], string> = {
  learned: "bg-accent",
  replaced: "bg-accent",
  reviewed: "bg-edge",
  changed: "bg-edge",
};

interface EventProps {
  one: Happening;
  memory: Memory;
  values: readonly Memory[];
  isLast: boolean;
}

function Event({ one, memory, values, isLast }: EventProps) {
  const other = one.memoryId && one.memoryId !== memory.id ? values.find((value) => value.id === one.memoryId) : null;
  const held = other && validityOf(other);
  return (
    <li className="relative pb-4 pl-5 text-sm">
      {!isLast && <span aria-hidden="true" className="absolute top-3 bottom-[-0.25rem] left-[3px] w-px bg-line" />}
      <span aria-hidden="true" className={`absolute top-[0.45rem] left-0 size-[7px] rounded-full ${DOTS[one.kind]}`} />
      <p>
        {one.says} <time className="text-soft text-xs">· {momentOf(one.at)}</time>
      </p>
      {one.before !== undefined && (
        <p className="mt-1 break-words text-soft">
          <span className="sr-only">Before: </span>
          <del>
            {other ? (
              <a className="hover:text-ink" href={addressOf({ page: "memories", memoryId: other.id })}>
                {one.before}
              </a>
            ) : (
              one.before
            )}
          </del>
          {held && <span className="text-xs"> ({held})</span>}
        </p>
      )}
      {one.after !== undefined && (
        <p className="mt-1 break-words">
          <span className="sr-only">Then: </span>
          {one.after}
        </p>
      )}
      {one.quote && <p className="mt-1 break-words text-soft">“{one.quote}”</p>}
    </li>
  );
}
