import { useState } from "react";
import type { Memory } from "../../api/types";
import { useApp, useStoreOf } from "../../app/AppContext";
import type { Progress } from "../../app/fewAtOnce";
import type { ListQuery } from "../../state/memoryFilters";
import type { Sort } from "../../state/memoryView";
import { memoriesCount } from "../../state/memoryWords";
import { ArchiveIcon, CheckIcon, CloseIcon, PinIcon, TrashIcon } from "../icons";
import { Button } from "../parts/Button";
import { IconButton } from "../parts/IconButton";
import { Checkbox } from "./Checkbox";
import { useMemories } from "./MemoryContext";
import { Select } from "./Select";

const SORTS: [Sort, string][] = [
  ["newest", "Newest first"],
  ["oldest", "Oldest first"],
  ["importance", "Most important first"],
];

interface ListLineProps {
  memories: Memory[];
  hasMore: boolean;
  query: ListQuery;
}

/** The line above a list: how it is sorted, or what is done with those that are chosen. */
export function ListLine({ memories, hasMore, query }: ListLineProps) {
  const { memoryView } = useApp();
  const { selection } = useMemories();
  const sort = useStoreOf(memoryView.store, (state) => state.filters.sort);
  const ids = useStoreOf(selection.store, (state) => state.ids);
  const isAll = ids.size > 0 && ids.size === memories.length;
  const [running, setRunning] = useState<Running | null>(null);

  const run = async (says: string, chosen: Memory[], work: Work) => {
    setRunning({ says, done: 0, of: chosen.length });
    try {
      await work(chosen, (done, of) => setRunning({ says, done, of }));
      selection.clear();
    } finally {
      setRunning(null);
    }
  };

  if (running) return <Underway {...running} />;
  return (
    <div className="flex min-h-11 items-center gap-x-2 gap-y-1 border-line border-b px-3 pb-1 md:px-6">
      <Checkbox
        label="Select all that are loaded"
        isChecked={isAll}
        isMixed={ids.size > 0 && !isAll}
        onToggle={() => (ids.size > 0 ? selection.clear() : selection.all(memories.map((one) => one.id)))}
      />
      {ids.size > 0 ? (
        <Together
          chosen={memories.filter((one) => ids.has(one.id))}
          query={query}
          hasMore={hasMore}
          isAll={isAll}
          run={run}
        />
      ) : (
        <>
          <span role="status" className="min-w-0 flex-1 truncate text-soft text-sm">
            {memories.length > 0 && `${memoriesCount(memories.length)}${hasMore ? " so far" : ""}`}
          </span>
          <Select
            label="Order"
            isBare
            className="w-40 shrink-0 sm:w-48"
            value={sort}
            options={SORTS}
            onChange={(chosen) => memoryView.filter({ sort: chosen })}
          />
        </>
      )}
    </div>
  );
}

interface Running {
  says: string;
  done: number;
  of: number;
}

type Work = (chosen: Memory[], progress: Progress) => Promise<unknown>;

/** How far it is. */
function Underway({ says, done, of }: Running) {
  return (
    <div className="flex min-h-11 items-center gap-3 border-line border-b px-3 pb-1 text-sm md:px-6">
      <span role="status">
        {says} {done} of {of}…
      </span>
      <progress aria-label={says} className="h-2 min-w-0 max-w-60 flex-1 accent-accent" max={of} value={done} />
    </div>
  );
}

interface TogetherProps {
  chosen: Memory[];
  query: ListQuery;
  hasMore: boolean;
  isAll: boolean;
  run: (says: string, chosen: Memory[], work: Work) => Promise<void>;
}

/** What can be done with several together. */
function Together({ chosen, query, hasMore, isAll, run }: TogetherProps) {
  const { actions, selection } = useMemories();
  const isPinned = chosen.every((one) => one.is_pinned);
  return (
    <>
      <span role="status" className="font-medium text-sm">
        {hasMore && isAll ? `All ${chosen.length} loaded are selected` : `${chosen.length} selected`}
      </span>
      <div className="flex min-w-0 flex-1 flex-wrap items-center gap-1">
        {query.trust === "active" ? (
          <>
            <Button
              look="quiet"
              onClick={() => void run("Changing", chosen, (all, at) => actions.pin(all, !isPinned, at))}
            >
              <PinIcon className="size-4" />
              <Name>{isPinned ? "Unpin" : "Pin"}</Name>
            </Button>
            <Button
              look="quiet"
              onClick={() => void run("Changing", chosen, (all, at) => actions.archive(all, !query.archived, at))}
            >
              <ArchiveIcon className="size-4" />
              <Name>{query.archived ? "Restore" : "Archive"}</Name>
            </Button>
          </>
        ) : (
          <>
            <Button
              look="quiet"
              onClick={() => void run("Approving", chosen, (all, at) => actions.review(all, "approve", undefined, at))}
            >
              <CheckIcon className="size-4" />
              <Name>Approve</Name>
            </Button>
            {query.trust === "pending" && (
              <Button
                look="quiet"
                onClick={() => void run("Rejecting", chosen, (all, at) => actions.review(all, "reject", undefined, at))}
              >
                <CloseIcon className="size-4" />
                <Name>Reject</Name>
              </Button>
            )}
          </>
        )}
        <Button look="quiet" className="!text-danger" onClick={() => void run("Deleting", chosen, actions.remove)}>
          <TrashIcon className="size-4" />
          <Name>Delete</Name>
        </Button>
      </div>
      <IconButton label="Select nothing" isSmall className="ml-auto" onClick={selection.clear}>
        <CloseIcon className="size-4" />
      </IconButton>
    </>
  );
}

/** A name that a small screen has no room for. */
const Name = ({ children }: { children: string }) => <span className="max-sm:sr-only">{children}</span>;
