import type { Memory } from "../../api/types";
import { dayOf, ORIGINS, TRUSTS, TYPES } from "../../state/memoryWords";
import { PinIcon } from "../icons";

interface MemoryMetaProps {
  memory: Memory;
  /** Say where it comes from and since when. */
  isFull?: boolean;
}

/** What a memory is, in one quiet line. */
export function MemoryMeta({ memory, isFull = true }: MemoryMetaProps) {
  const parts = [
    memory.category,
    ...(isFull ? [ORIGINS[memory.origin], dayOf(memory.created_at)] : []),
    memory.trust === "active" ? null : TRUSTS[memory.trust],
    memory.valid_to ? `held until ${dayOf(memory.valid_to)}` : null,
  ].filter(Boolean);
  return (
    <span className="block break-words text-soft text-xs leading-5">
      {memory.is_pinned && (
        <span className="mr-2 inline-flex items-center gap-1 align-bottom font-medium text-accent">
          <PinIcon className="size-3.5" />
          Pinned
        </span>
      )}
      <span className="mr-2 inline-block rounded-full border border-line bg-surface px-2 text-ink leading-4.5">
        {TYPES[memory.memory_type]}
      </span>
      {parts.join(" · ")}
    </span>
  );
}
