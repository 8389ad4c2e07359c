import { type KeyboardEvent, useRef } from "react";
import { useApp, useStoreOf } from "../../app/AppContext";
import { activeFilters } from "../../state/memoryFilters";
import type { SearchMode } from "../../state/memoryView";
import { ORIGINS, TRUSTS, TYPES } from "../../state/memoryWords";
import { CloseIcon, FilterIcon, SearchIcon } from "../icons";
import { Button } from "../parts/Button";
import { Chip } from "../parts/Chip";
import { IconButton } from "../parts/IconButton";
import { TextField } from "../parts/TextField";
import { FilterPanel } from "./FilterPanel";
import { useMemoryPlace } from "./useMemoryPlace";

const NAMES = { type: TYPES, origin: ORIGINS, trust: TRUSTS };
const MODES: [SearchMode, string][] = [
  ["words", "Words"],
  ["ask", "Question"],
];

/** Look for memories by words or by a question, and narrow what is listed. */
export function MemoryToolbar() {
  const { memoryView } = useApp();
  const { mode, search, filters, isFiltering } = useStoreOf(memoryView.store, (state) => state);
  const { tab } = useMemoryPlace();
  const field = useRef<HTMLInputElement>(null);
  const active = activeFilters(filters, tab, NAMES);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Escape" && search) memoryView.setSearch("");
    else if (event.key === "Enter" && mode === "ask") memoryView.ask();
    else if (event.key === "ArrowDown") document.querySelector<HTMLElement>("a[data-memory]")?.focus();
    else return;
    event.preventDefault();
  };

  return (
    <div className="flex flex-col gap-2 px-3 pt-3 pb-2 md:px-6">
      <div className="flex flex-wrap items-center gap-2">
        <TextField
          ref={field}
          label={mode === "ask" ? "Ask what is remembered" : "Search memories"}
          placeholder={mode === "ask" ? "Ask, such as “What do I drink?”" : "Search memories"}
          type="search"
          className="min-w-0 flex-1 basis-44 max-sm:basis-full"
          icon={<SearchIcon className="size-4" />}
          value={search}
          onChange={(event) => memoryView.setSearch(event.target.value)}
          onKeyDown={onKeyDown}
          end={
            search && (
              <IconButton
                label="Clear the search"
                isSmall
                className="-mr-1.5"
                onClick={() => {
                  memoryView.setSearch("");
                  field.current?.focus();
                }}
              >
                <CloseIcon className="size-4" />
              </IconButton>
            )
          }
        />
        <fieldset className="flex rounded-control border border-line p-0.5">
          <legend className="sr-only">How to search</legend>
          {MODES.map(([one, name]) => (
            <button
              key={one}
              type="button"
              aria-pressed={mode === one}
              className={`target min-h-8 pointer-coarse:min-h-11 rounded-[0.4rem] px-2.5 text-sm ${mode === one ? "bg-sunken font-medium" : "text-soft hover:text-ink"}`}
              onClick={() => {
                memoryView.setMode(one);
                field.current?.focus();
              }}
            >
              {name}
            </button>
          ))}
        </fieldset>
        {mode === "ask" && (
          <Button look="solid" disabled={!search.trim()} onClick={() => memoryView.ask()}>
            Ask
          </Button>
        )}
        <Button aria-expanded={isFiltering} onClick={() => memoryView.setFiltering(!isFiltering)}>
          <FilterIcon className="size-4" />
          Filters
          {active.length > 0 && (
            <span className="rounded-full bg-accent px-1.5 text-on-accent text-xs">{active.length}</span>
          )}
        </Button>
      </div>
      {isFiltering && <FilterPanel />}
      {active.length > 0 && (
        <ul aria-label="Filters that are set" className="flex flex-wrap gap-1.5">
          {active.map((one) => (
            <li key={one.name}>
              <Chip look="accent" aria-label={`Without: ${one.name}`} onClick={() => memoryView.filter(one.without)}>
                {one.name}
                <CloseIcon className="size-3" />
              </Chip>
            </li>
          ))}
          {active.length > 1 && (
            <li>
              <Chip onClick={() => memoryView.unfilter()}>Clear all</Chip>
            </li>
          )}
        </ul>
      )}
    </div>
  );
}
