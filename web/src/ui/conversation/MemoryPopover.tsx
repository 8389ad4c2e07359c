import { type ReactNode, useState } from "react";
import { asProblem } from "../../api/problem";
import type { MemoryUsed } from "../../api/types";
import { useApp } from "../../app/AppContext";
import { Button } from "../parts/Button";
import { Chip } from "../parts/Chip";
import { Popover } from "../parts/Popover";
import { GrowingText } from "./GrowingText";

interface MemoryPopoverProps {
  memory: MemoryUsed;
  isOpen: boolean;
  onOpenChange: (isOpen: boolean) => void;
  /** The face of the chip. */
  children: ReactNode;
}

/** The server takes a deletion back for 30 seconds. */
const UNDO_SHOWN_FOR = 20_000;

/** A memory that was used, why, and what can be done with it. */
export default function MemoryPopover({ memory, isOpen, onOpenChange, children }: MemoryPopoverProps) {
  const { client, conversation, notices, router } = useApp();
  const [edited, setEdited] = useState<string | null>(null);
  const path = `/api/memories/${encodeURIComponent(memory.id)}`;

  const attempt = async (work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      notices.tell(asProblem(error).message, { kind: "problem" });
    }
  };

  const save = () =>
    attempt(async () => {
      const content = edited?.trim();
      if (!content) return;
      await client.patch(path, { content });
      conversation.showMemory(memory.id, content);
      setEdited(null);
      notices.tell("Memory changed");
    });

  const forget = () =>
    attempt(async () => {
      await client.delete(path);
      onOpenChange(false);
      const before = conversation.store.getState().memories;
      conversation.showMemory(memory.id, null);
      const act = () =>
        void attempt(async () => {
          await client.post(`${path}/undo`, {});
          conversation.store.setState({ memories: before });
        });
      notices.tell("Memory forgotten", { action: { label: "Undo", act }, milliseconds: UNDO_SHOWN_FOR });
    });

  return (
    <Popover
      label="Memory"
      isOpen={isOpen}
      onOpenChange={(isStill) => {
        onOpenChange(isStill);
        if (!isStill) setEdited(null);
      }}
      trigger={<Chip className="max-w-64">{children}</Chip>}
    >
      <p className="mb-1 text-soft text-xs">
        {memory.memory_type} · {memory.why}
      </p>
      {edited === null ? (
        <>
          <p className="break-words text-sm">{memory.content}</p>
          <div className="mt-3 flex gap-2">
            <Button onClick={() => router.go({ page: "memories", memoryId: memory.id })}>Open</Button>
            <Button onClick={() => setEdited(memory.content)}>Edit</Button>
            <Button look="danger" onClick={() => void forget()}>
              Forget
            </Button>
          </div>
        </>
      ) : (
        <>
          <div className="rounded-control border border-accent">
            <GrowingText
              label="Memory"
              text={edited}
              onText={setEdited}
              onEnter={() => void save()}
              onEscape={() => setEdited(null)}
            />
          </div>
          <div className="mt-3 flex gap-2">
            <Button look="solid" onClick={() => void save()}>
              Save
            </Button>
            <Button look="quiet" onClick={() => setEdited(null)}>
              Cancel
            </Button>
          </div>
        </>
      )}
    </Popover>
  );
}
