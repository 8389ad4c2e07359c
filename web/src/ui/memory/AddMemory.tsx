import { type FormEvent, useRef, useState } from "react";
import { asProblem } from "../../api/problem";
import { useApp } from "../../app/AppContext";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Toggle } from "./FilterPanel";
import { useMemories } from "./MemoryContext";
import { type Fields, MemoryFields } from "./MemoryFields";

const EMPTY: Fields = { content: "", memory_type: "fact", category: null, importance: 0.5 };

/** Add a memory by hand. */
export default function AddMemory({ onClose }: { onClose: () => void }) {
  const { notices, router } = useApp();
  const { actions } = useMemories();
  const [fields, setFields] = useState(EMPTY);
  const [isPinned, setPinned] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const [isSaving, setSaving] = useState(false);
  const added = { ...fields, content: fields.content.trim(), is_pinned: isPinned };
  // The same words again are the same request, however often it is sent; others are another one.
  const sent = useRef({ body: "", key: "" });

  const save = async () => {
    if (!added.content || isSaving) return;
    const body = JSON.stringify(added);
    if (sent.current.body !== body) sent.current = { body, key: crypto.randomUUID() };
    setSaving(true);
    setProblem(null);
    try {
      const { memory, isNew } = await actions.add(added, sent.current.key);
      onClose();
      router.go({ page: "memories", memoryId: memory.id });
      notices.tell(isNew ? "Memory added" : "This is remembered already");
    } catch (error) {
      setProblem(asProblem(error).message);
      setSaving(false);
    }
  };

  return (
    <Dialog
      isOpen
      onOpenChange={(isOpen) => !isOpen && onClose()}
      title="Add a memory"
      description="One lasting statement about you. It is used from the next message on."
    >
      <form
        className="mt-4 flex flex-col gap-4"
        onSubmit={(event: FormEvent) => {
          event.preventDefault();
          void save();
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          void save();
        }}
      >
        <MemoryFields fields={fields} onFields={setFields} />
        <Toggle label="Pin it: it stands in every prompt" isOn={isPinned} onChange={setPinned} />
        {problem && (
          <p role="alert" className="text-danger text-sm">
            {problem}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="solid" type="submit" disabled={!added.content || isSaving}>
            Add memory
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
