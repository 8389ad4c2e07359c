import { useId, useLayoutEffect, useRef } from "react";
import type { Memory } from "../../api/types";
import { TYPES } from "../../state/memoryWords";
import { CategoryField } from "./CategoryField";
import { optionsOf } from "./FilterPanel";
import { ImportanceField } from "./Importance";
import { Select } from "./Select";

export type Fields = Pick<Memory, "content" | "memory_type" | "category" | "importance">;

const LONGEST = 10_000;

interface MemoryFieldsProps {
  fields: Fields;
  onFields: (fields: Fields) => void;
  isContentOnly?: boolean;
}

/** What a person can say of a memory. */
export function MemoryFields({ fields, onFields, isContentOnly = false }: MemoryFieldsProps) {
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height follows the text.
  useLayoutEffect(() => {
    const element = area.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight + 2}px`;
  }, [fields.content]);
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-col gap-1">
        <label htmlFor={id} className="text-soft text-xs">
          What is remembered
        </label>
        <textarea
          ref={area}
          id={id}
          rows={2}
          maxLength={LONGEST}
          value={fields.content}
          placeholder="Such as “Prefers green tea”"
          onChange={(event) => onFields({ ...fields, content: event.target.value })}
          className="max-h-[40dvh] w-full resize-none rounded-control border border-edge/60 bg-surface px-2.5 py-2 pointer-coarse:text-base"
        />
      </div>
      {!isContentOnly && (
        <div className="grid grid-cols-2 gap-3 sm:grid-cols-3">
          <Select
            label="Type"
            value={fields.memory_type}
            options={optionsOf(TYPES)}
            onChange={(memory_type) => onFields({ ...fields, memory_type })}
          />
          <CategoryField
            value={fields.category ?? ""}
            placeholder="None"
            isLive
            onChange={(category) => onFields({ ...fields, category: category.trim() || null })}
          />
          <div className="col-span-2 sm:col-span-1">
            <ImportanceField value={fields.importance} onChange={(importance) => onFields({ ...fields, importance })} />
          </div>
        </div>
      )}
    </div>
  );
}
