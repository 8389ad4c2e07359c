import type { ReactNode } from "react";
import type { Memory } from "../../api/types";
import { momentOf, ORIGINS, TRUSTS, TYPES, validityOf } from "../../state/memoryWords";
import { Importance } from "./Importance";

/** What is known about a memory. */
export function MemoryFacts({ memory }: { memory: Memory }) {
  const slot = memory.subject && memory.attribute ? `${memory.subject} · ${memory.attribute}` : null;
  return (
    <dl className="grid grid-cols-[auto_1fr] gap-x-5 gap-y-1.5 text-sm">
      <Fact name="Type">{TYPES[memory.memory_type]}</Fact>
      <Fact name="Category">{memory.category}</Fact>
      <Fact name="Importance">
        <Importance value={memory.importance} />
      </Fact>
      <Fact name="Confidence">{Math.round(memory.confidence * 100)} %</Fact>
      <Fact name="Origin">{ORIGINS[memory.origin]}</Fact>
      <Fact name="Trust">{TRUSTS[memory.trust]}</Fact>
      <Fact name="Holds">{validityOf(memory)}</Fact>
      <Fact name="Speaks of">{slot}</Fact>
      <Fact name="Learned">{momentOf(memory.created_at)}</Fact>
      <Fact name="Used">
        {memory.access_count === 0
          ? "Not yet"
          : `${memory.access_count === 1 ? "Once" : `${memory.access_count} times`}, last ${momentOf(memory.last_accessed_at)}`}
      </Fact>
      <Fact name="Agent">{memory.agent === "assistant" ? null : memory.agent}</Fact>
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  if (children === null || children === "") return null;
  return (
    <>
      <dt className="text-soft">{name}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </>
  );
}
