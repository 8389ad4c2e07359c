import * as Tabs from "@radix-ui/react-tabs";
import { useMemo } from "react";
import { listQuery } from "../../state/memoryFilters";
import { NO_FILTERS } from "../../state/memoryView";
import { useMemoryList } from "./useMemoryList";

const TABS = [
  ["all", "All"],
  ["review", "Review"],
  ["archived", "Archived"],
  ["notes", "Notes"],
] as const;

/** What is looked at, and how many memories wait for a decision. */
export function MemoryTabs() {
  // The beginning of the review inbox is read with the page, so its length is known and it opens at once.
  const waiting = useMemo(() => listQuery(NO_FILTERS, "", "review", new Date()), []);
  const { memories, list } = useMemoryList(waiting);
  const count = memories.length === 0 ? "" : `${memories.length}${list.hasNextPage ? "+" : ""}`;
  return (
    <Tabs.List aria-label="What is shown" className="flex gap-1 border-line border-b px-2 md:px-5">
      {TABS.map(([value, name]) => (
        <Tabs.Trigger
          key={value}
          value={value}
          className="target -mb-px flex min-h-10 pointer-coarse:min-h-11 items-center gap-1.5 border-transparent border-b-2 px-3 text-sm text-soft hover:text-ink data-[state=active]:border-accent data-[state=active]:font-medium data-[state=active]:text-ink"
        >
          {name}
          {value === "review" && count && (
            <span className="rounded-full bg-accent px-1.5 font-medium text-on-accent text-xs">
              {count}
              <span className="sr-only"> waiting</span>
            </span>
          )}
        </Tabs.Trigger>
      ))}
    </Tabs.List>
  );
}
