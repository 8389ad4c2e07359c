import { useQuery } from "@tanstack/react-query";
import { useId, useMemo, useState } from "react";
import type { Overview } from "../../api/types";
import { useApp } from "../../app/AppContext";
import { MEMORIES_KEY } from "../../app/memoryActions";

const LONGEST = 100;

interface CategoryFieldProps {
  value: string;
  placeholder?: string;
  /** Tell of every letter, not only of a name that is whole. */
  isLive?: boolean;
  onChange: (category: string) => void;
}

/** A category by its name; those of other memories are offered. */
export function CategoryField({ value, placeholder, isLive = false, onChange }: CategoryFieldProps) {
  const id = useId();
  const [text, setText] = useState(value);
  const [before, setBefore] = useState(value);
  if (value !== before) {
    setBefore(value);
    setText(value);
  }
  const seen = useCategories();
  const choose = (category: string) => {
    setBefore(category.trim());
    onChange(category);
  };
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <label htmlFor={id} className="text-soft text-xs">
        Category
      </label>
      <input
        id={id}
        list={`${id}-seen`}
        value={text}
        maxLength={LONGEST}
        placeholder={placeholder}
        onChange={(event) => {
          setText(event.target.value);
          // What was chosen from the list is whole; what is typed is so once the field is left.
          if (isLive || event.target.value === "" || seen.includes(event.target.value)) choose(event.target.value);
        }}
        onBlur={() => text.trim() !== value && choose(text)}
        onKeyDown={(event) => event.key === "Enter" && text.trim() !== value && choose(text)}
        className="min-h-9 w-full min-w-0 rounded-control border border-edge/60 bg-surface px-2 text-sm pointer-coarse:min-h-11 pointer-coarse:text-base"
      />
      <datalist id={`${id}-seen`}>
        {seen.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </div>
  );
}

/** The names of the user's categories, the most used first. */
function useCategories(): string[] {
  const { client } = useApp();
  const read = useQuery({
    queryKey: [...MEMORIES_KEY, "categories"],
    queryFn: () => client.get<Overview>("/api/overview", { query: { days: 1 } }),
  });
  return useMemo(() => read.data?.memories.by_category.map((one) => one.name) ?? [], [read.data]);
}
