import { useState } from "react";
import type { MemoryUsed } from "../../api/types";
import { Chip } from "../parts/Chip";
import { MemoryChip } from "./MemoryChip";

const AT_FIRST = 3;

/** What the assistant knew when it wrote this. */
export function MemoriesUsed({ memories }: { memories: MemoryUsed[] }) {
  const [isOpen, setOpen] = useState(false);
  if (!memories.length) return null;
  const shown = isOpen ? memories : memories.slice(0, AT_FIRST);
  return (
    <fieldset aria-label="Memories used" className="mt-3 flex min-w-0 flex-wrap gap-1.5">
      {shown.map((memory) => (
        <MemoryChip key={memory.id} memory={memory} />
      ))}
      {memories.length > shown.length && (
        <Chip onClick={() => setOpen(true)}>{memories.length - shown.length} more</Chip>
      )}
    </fieldset>
  );
}
