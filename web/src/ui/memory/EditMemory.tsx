import { type FormEvent, useEffect, useRef, useState } from "react";
import { asProblem } from "../../api/problem";
import type { Memory } from "../../api/types";
import { useApp } from "../../app/AppContext";
import { memoryKey } from "../../app/memoryActions";
import { Button } from "../parts/Button";
import { Kbd } from "../parts/Kbd";
import { useMemories } from "./MemoryContext";
import { type Fields, MemoryFields } from "./MemoryFields";

interface EditMemoryProps {
  memory: Memory;
  onDone: () => void;
}

/** Edit a memory in its place: Ctrl+Enter saves, Escape leaves; one that waits for review is approved in these words. */
export function EditMemory({ memory, onDone }: EditMemoryProps) {
  const { client, queries } = useApp();
  const { actions } = useMemories();
  const [fields, setFields] = useState<Fields>(() => fieldsOf(memory));
  // What the edit was begun with; another version is shown before it is written over.
  const [base, setBase] = useState(memory);
  const [problem, setProblem] = useState<string | null>(null);
  const [isSaving, setSaving] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const isWaiting = memory.trust !== "active";

  useEffect(() => {
    // A menu that closes takes the focus back first.
    const timer = setTimeout(() => form.current?.querySelector("textarea")?.focus(), 0);
    return () => clearTimeout(timer);
  }, []);

  const save = async () => {
    const content = fields.content.trim();
    if (!content || isSaving) return;
    setSaving(true);
    setProblem(null);
    try {
      if (isWaiting && !(await actions.review([base], "approve", content))) return;
      if (!isWaiting) await actions.edit(base, { ...fields, content });
      onDone();
    } catch (error) {
      const { status, message } = asProblem(error);
      if (status === 412) {
        const newest = await client.get<Memory>(`/api/memories/${encodeURIComponent(memory.id)}`);
        queries.setQueryData(memoryKey(memory.id), newest);
        setBase(newest);
        setProblem(`It was changed meanwhile and now says: “${newest.content}”. Save again to write over it.`);
      } else setProblem(message);
    } finally {
      setSaving(false);
    }
  };

  return (
    <form
      ref={form}
      aria-label="Edit the memory"
      className="flex flex-col gap-3"
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        void save();
      }}
      onKeyDown={(event) => {
        if (event.nativeEvent.isComposing) return;
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void save();
        else if (event.key === "Escape") onDone();
        else return;
        event.preventDefault();
        event.stopPropagation();
      }}
    >
      <MemoryFields fields={fields} onFields={setFields} isContentOnly={isWaiting} />
      {problem && (
        <p role="alert" className="text-danger text-sm">
          {problem}
        </p>
      )}
      <div className="flex flex-wrap items-center gap-2">
        <Button look="solid" type="submit" disabled={!fields.content.trim() || isSaving}>
          {isWaiting ? "Approve" : "Save"}
        </Button>
        <Button look="quiet" onClick={onDone}>
          Cancel
        </Button>
        <span className="ml-auto hidden items-center gap-1.5 text-soft text-xs sm:flex">
          <Kbd keys={["mod", "Enter"]} />
        </span>
      </div>
    </form>
  );
}

function fieldsOf({ content, memory_type, category, importance }: Memory): Fields {
  return { content, memory_type, category, importance };
}
