import { useEffect, useRef } from "react";
import { type Edit, isChanged, type NotesState } from "../../state/notesEditing";
import { Button } from "../parts/Button";
import { Kbd } from "../parts/Kbd";
import { ProblemBar } from "../parts/ProblemBar";
import { TextArea } from "../parts/TextArea";
import { TextField } from "../parts/TextField";

interface EditNotesProps {
  edit: Edit;
  state: Pick<NotesState, "isSaving" | "problem">;
  /** The version that is stored now. */
  version: number;
  onType: (typed: Partial<Pick<Edit, "title" | "text">>) => void;
  onSave: () => void;
  onCancel: () => void;
}

const LABELS = { all: "All notes", new: "Text of the new section", section: "Section" } as const;

/** Edit a part of the notes in its place, as the Markdown that it is. */
export function EditNotes({ edit, state, version, onType, onSave, onCancel }: EditNotesProps) {
  const { target, title, text, base } = edit;
  const titleField = useRef<HTMLInputElement>(null);
  const textField = useRef<HTMLTextAreaElement>(null);
  const isNew = target.kind === "new";
  const isUsable = isChanged(edit) && (!isNew || title.trim() !== "");

  useEffect(() => {
    const field = isNew ? titleField.current : textField.current;
    field?.focus();
    // One writes on where the text ends.
    field?.setSelectionRange(field.value.length, field.value.length);
  }, [isNew]);

  return (
    <div className="my-3 flex flex-col gap-2.5 rounded-panel border border-accent bg-surface p-3">
      {version > base.version && (
        <ProblemBar>
          The notes were changed while you write. Saving joins both, and asks you where they do not go together.
        </ProblemBar>
      )}
      {isNew && (
        <TextField
          ref={titleField}
          label="Title of the new section"
          placeholder="Title"
          maxLength={200}
          value={title}
          onChange={(event) => onType({ title: event.target.value })}
          onKeyDown={(event) => {
            if (event.key !== "Escape" || event.nativeEvent.isComposing) return;
            event.preventDefault();
            onCancel();
          }}
        />
      )}
      <TextArea
        ref={textField}
        label={LABELS[target.kind]}
        value={text}
        rows={target.kind === "all" ? 12 : 5}
        placeholder="What to keep in mind"
        className="font-mono"
        onText={(typed) => onType({ text: typed })}
        onSave={() => isUsable && onSave()}
        onEscape={onCancel}
      />
      {state.problem && <ProblemBar>Not saved: {state.problem} Your text is kept here.</ProblemBar>}
      <div className="flex flex-wrap items-center gap-2">
        <span className="mr-auto hidden items-center gap-1.5 text-soft text-xs sm:flex">
          <Kbd keys={["mod", "Enter"]} /> saves
        </span>
        <Button look="quiet" onClick={onCancel}>
          Cancel
        </Button>
        <Button look="solid" disabled={!isUsable || state.isSaving} onClick={onSave}>
          {state.isSaving ? "Saving…" : "Save"}
        </Button>
      </div>
    </div>
  );
}
