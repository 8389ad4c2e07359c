import { lazy, Suspense, useState } from "react";
import type { MemoryUsed } from "../../api/types";
import { BrainIcon } from "../icons";
import { Chip } from "../parts/Chip";
import { Skeleton } from "../parts/Skeleton";

const MemoryPopover = lazy(() => import("./MemoryPopover"));

/** A memory that was used; what can be done with it comes when it is asked for. */
export function MemoryChip({ memory }: { memory: MemoryUsed }) {
  const [isOpen, setOpen] = useState(false);
  const [wasOpened, setOpened] = useState(false);
  const face = (
    <>
      <BrainIcon className="size-3.5 text-accent" />
      <span className="truncate">{memory.content}</span>
    </>
  );
  if (!wasOpened) {
    return (
      <Chip
        className="max-w-64"
        aria-haspopup="dialog"
        aria-expanded={false}
        onClick={() => {
          setOpened(true);
          setOpen(true);
        }}
      >
        {face}
      </Chip>
    );
  }
  return (
    <Suspense fallback={<Skeleton className="h-7 w-32 rounded-full" />}>
      <MemoryPopover memory={memory} isOpen={isOpen} onOpenChange={setOpen}>
        {face}
      </MemoryPopover>
    </Suspense>
  );
}
