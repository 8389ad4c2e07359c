import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { Problem } from "../../api/problem";
import type { Memory } from "../../api/types";
import { useApp } from "../../app/AppContext";
import { LISTS_KEY, type MemoryPages, memoryKey } from "../../app/memoryActions";
import { addressOf } from "../../state/route";
import { ArchiveIcon, CloseIcon, PencilIcon, PinIcon, TrashIcon } from "../icons";
import { Button } from "../parts/Button";
import { EmptyState } from "../parts/EmptyState";
import { IconButton } from "../parts/IconButton";
import { ProblemBar } from "../parts/ProblemBar";
import { Skeleton } from "../parts/Skeleton";
import { EditMemory } from "./EditMemory";
import { useMemories } from "./MemoryContext";
import { MemoryFacts } from "./MemoryFacts";
import { MemoryHistory } from "./MemoryHistory";
import { ReviewTools } from "./ReviewTools";

/** All about one memory. */
export function MemoryDetail({ id, onClose }: { id: string; onClose: () => void }) {
  const { client, queries } = useApp();
  const read = useQuery({
    queryKey: memoryKey(id),
    queryFn: () => client.get<Memory>(`/api/memories/${encodeURIComponent(id)}`),
    // What the list knows is shown until it is read.
    placeholderData: () =>
      queries
        .getQueriesData<MemoryPages>({ queryKey: LISTS_KEY })
        .flatMap(([, data]) => data?.pages ?? [])
        .flatMap((page) => page.items)
        .find((one) => one.id === id),
  });
  const memory = read.data;
  const isGone = read.error instanceof Problem && read.error.status === 404;
  return (
    <>
      <header className="flex min-h-14 items-center gap-1 border-line border-b px-4">
        <h2 className="flex-1 font-semibold">Memory</h2>
        {memory && !isGone && <Tools memory={memory} onClose={onClose} />}
        <IconButton label="Close" hint="Esc" onClick={onClose}>
          <CloseIcon />
        </IconButton>
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto px-4 py-4">
        {isGone ? (
          <EmptyState title="This memory is not there">It was deleted, or the link is not right.</EmptyState>
        ) : memory ? (
          <Known key={memory.id} memory={memory} />
        ) : read.error ? (
          <ProblemBar actions={<Button onClick={() => void read.refetch()}>Try again</Button>}>
            {read.error.message}
          </ProblemBar>
        ) : (
          <Skeleton className="h-32" />
        )}
      </div>
    </>
  );
}

function Tools({ memory, onClose }: { memory: Memory; onClose: () => void }) {
  const { actions } = useMemories();
  return (
    <>
      {memory.trust === "active" && !memory.valid_to && (
        <>
          <IconButton
            label={memory.is_pinned ? "Unpin" : "Pin"}
            aria-pressed={memory.is_pinned}
            className={memory.is_pinned ? "!text-accent" : ""}
            onClick={() => void actions.pin([memory], !memory.is_pinned)}
          >
            <PinIcon />
          </IconButton>
          <IconButton
            label={memory.is_archived ? "Restore" : "Archive"}
            onClick={() => void actions.archive([memory], !memory.is_archived)}
          >
            <ArchiveIcon />
          </IconButton>
        </>
      )}
      <IconButton
        label="Delete"
        onClick={() => {
          onClose();
          void actions.remove([memory]);
        }}
      >
        <TrashIcon />
      </IconButton>
    </>
  );
}

function Known({ memory }: { memory: Memory }) {
  const [isEditing, setEditing] = useState(false);
  const edit = useRef<HTMLButtonElement>(null);
  const wasEditing = useRef(false);

  useEffect(() => {
    // Whoever leaves the form is where they began.
    if (wasEditing.current && !isEditing) edit.current?.focus();
    wasEditing.current = isEditing;
  }, [isEditing]);

  return (
    <div className="flex flex-col gap-5">
      {memory.superseded_by && (
        <ProblemBar
          actions={
            <a
              className="font-medium text-accent underline underline-offset-4"
              href={addressOf({ page: "memories", memoryId: memory.superseded_by })}
            >
              What holds now
            </a>
          }
        >
          This holds no longer: another memory took its place.
        </ProblemBar>
      )}
      {isEditing ? (
        <EditMemory memory={memory} onDone={() => setEditing(false)} />
      ) : (
        <div>
          <p className="whitespace-pre-wrap break-words text-lg leading-relaxed">{memory.content}</p>
          {memory.trust === "active" ? (
            <Button ref={edit} look="quiet" className="-ml-3 mt-1" onClick={() => setEditing(true)}>
              <PencilIcon className="size-4" />
              Edit
            </Button>
          ) : (
            <div className="-mx-1.5 mt-2">
              <ReviewTools memory={memory} onEdit={() => setEditing(true)} />
            </div>
          )}
        </div>
      )}
      <MemoryFacts memory={memory} />
      <MemoryHistory memory={memory} />
    </div>
  );
}
