import * as Switch from "@radix-ui/react-switch";
import { useId } from "react";
import { useApp, useStoreOf } from "../../app/AppContext";
import { SPANS } from "../../state/memoryFilters";
import { ORIGINS, TRUSTS, TYPES } from "../../state/memoryWords";
import { CategoryField } from "./CategoryField";
import { Select } from "./Select";
import { useMemoryPlace } from "./useMemoryPlace";

/** The names of values as options of a list. */
export const optionsOf = <T extends string>(names: Record<T, string>) => Object.entries(names) as [T, string][];

const today = () => new Intl.DateTimeFormat("sv-SE", { dateStyle: "short" }).format(new Date());

/** Narrow the list. */
export function FilterPanel() {
  const { memoryView } = useApp();
  const filters = useStoreOf(memoryView.store, (state) => state.filters);
  const { tab } = useMemoryPlace();
  const { filter } = memoryView;
  return (
    <section
      aria-label="Filters"
      className="appears grid grid-cols-2 gap-x-3 gap-y-2.5 rounded-panel border border-line bg-page p-3 sm:grid-cols-3 xl:grid-cols-5"
    >
      <Select
        label="Type"
        value={filters.type ?? ""}
        options={[["", "Any"], ...optionsOf(TYPES)]}
        onChange={(type) => filter({ type: type || null })}
      />
      <CategoryField
        value={filters.category ?? ""}
        placeholder="Any"
        onChange={(category) => filter({ category: category.trim() || null })}
      />
      <Select
        label="Origin"
        value={filters.origin ?? ""}
        options={[["", "Any"], ...optionsOf(ORIGINS)]}
        onChange={(origin) => filter({ origin: origin || null })}
      />
      {tab !== "review" && (
        <Select
          label="Trust"
          value={filters.trust}
          options={optionsOf(TRUSTS)}
          onChange={(trust) => filter({ trust })}
        />
      )}
      <Select label="Learned" value={filters.span} options={optionsOf(SPANS)} onChange={(span) => filter({ span })} />
      {filters.span === "range" && (
        <>
          <Day label="From" value={filters.from} latest={filters.to || today()} onChange={(from) => filter({ from })} />
          <Day label="To" value={filters.to} earliest={filters.from} onChange={(to) => filter({ to })} />
        </>
      )}
      <div className="col-span-full flex flex-wrap items-center gap-x-6 gap-y-2 pt-0.5">
        {tab !== "review" && (
          <Toggle label="Only pinned" isOn={filters.isPinned} onChange={(isPinned) => filter({ isPinned })} />
        )}
        {!tab && (
          <div className="flex flex-wrap items-center gap-2">
            <Toggle
              label="What was known on a day"
              isOn={filters.asOf !== ""}
              onChange={(isOn) => filter({ asOf: isOn ? today() : "" })}
            />
            {filters.asOf && (
              <Day
                label="Day"
                isBare
                value={filters.asOf}
                latest={today()}
                onChange={(asOf) => filter({ asOf: asOf || today() })}
              />
            )}
          </div>
        )}
      </div>
    </section>
  );
}

interface DayProps {
  label: string;
  value: string;
  earliest?: string;
  latest?: string;
  isBare?: boolean;
  onChange: (day: string) => void;
}

function Day({ label, value, earliest, latest, isBare = false, onChange }: DayProps) {
  const id = useId();
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <label htmlFor={id} className={isBare ? "sr-only" : "text-soft text-xs"}>
        {label}
      </label>
      <input
        id={id}
        type="date"
        value={value}
        min={earliest}
        max={latest}
        onChange={(event) => onChange(event.target.value)}
        className="min-h-9 rounded-control border border-edge/60 bg-surface px-2 text-sm pointer-coarse:min-h-11 pointer-coarse:text-base"
      />
    </div>
  );
}

/** Something that is on or off. */
export function Toggle({ label, isOn, onChange }: { label: string; isOn: boolean; onChange: (isOn: boolean) => void }) {
  const id = useId();
  return (
    <span className="flex items-center gap-2 text-sm pointer-coarse:min-h-11">
      <Switch.Root
        id={id}
        checked={isOn}
        onCheckedChange={onChange}
        className="relative h-5 w-9 shrink-0 rounded-full bg-edge transition-colors data-[state=checked]:bg-accent"
      >
        <Switch.Thumb className="block size-4 translate-x-0.5 rounded-full bg-surface transition-transform data-[state=checked]:translate-x-4.5" />
      </Switch.Root>
      <label htmlFor={id} className="cursor-pointer">
        {label}
      </label>
    </span>
  );
}
