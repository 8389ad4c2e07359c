import { useApp, useStoreOf } from "../../app/AppContext";
import type { ListQuery } from "../../state/memoryFilters";
import { NO_FILTERS } from "../../state/memoryView";
import { ArchiveIcon, BrainIcon, CheckIcon, SearchIcon } from "../icons";
import { Button } from "../parts/Button";
import { EmptyState } from "../parts/EmptyState";
import { Skeleton } from "../parts/Skeleton";
import { useMemoryPlace } from "./useMemoryPlace";

interface MemoryListMessageProps {
  query: ListQuery;
  isLoading: boolean;
  problem: Error | null;
  onRetry: () => void;
}

/** What stands in the place of an empty list. */
export function MemoryListMessage({ query, isLoading, problem, onRetry }: MemoryListMessageProps) {
  const { memoryView } = useApp();
  const filters = useStoreOf(memoryView.store, (state) => state.filters);
  const { tab } = useMemoryPlace();
  if (isLoading) {
    return (
      <div className="flex flex-col gap-3 px-2 pt-4">
        {["w-3/4", "w-11/12", "w-2/3", "w-10/12", "w-1/2"].map((width) => (
          <Skeleton key={width} className={`h-10 ${width}`} />
        ))}
      </div>
    );
  }
  if (problem) {
    return (
      <div role="alert" className="flex flex-col items-start gap-2 px-2 pt-4 text-sm text-soft">
        {problem.message}
        <Button onClick={onRetry}>Try again</Button>
      </div>
    );
  }
  const isFiltered = JSON.stringify({ ...filters, sort: "newest" }) !== JSON.stringify(NO_FILTERS);
  if (query.q || isFiltered) {
    return (
      <EmptyState icon={<SearchIcon className="size-6" />} title="Nothing matches">
        <p className="mb-3">
          No memory {query.q ? `has the words “${query.q}”` : "is like that"}
          {query.q && isFiltered ? " and passes the filters" : ""}.
        </p>
        <Button
          onClick={() => {
            memoryView.unfilter();
            memoryView.setSearch("");
          }}
        >
          Show all
        </Button>
      </EmptyState>
    );
  }
  if (tab === "review") {
    return (
      <EmptyState icon={<CheckIcon className="size-6" />} title="Nothing waits for review">
        What tools and imports say is not used until you approve it. It will wait here.
      </EmptyState>
    );
  }
  if (tab === "archived") {
    return (
      <EmptyState icon={<ArchiveIcon className="size-6" />} title="Nothing is archived">
        Archived memories are kept but not used. Old ones that nobody needed for long come here by themselves.
      </EmptyState>
    );
  }
  return (
    <EmptyState icon={<BrainIcon className="size-6" />} title="Nothing is remembered yet">
      What you tell in conversations is remembered by itself. You can also add a memory by hand.
    </EmptyState>
  );
}
