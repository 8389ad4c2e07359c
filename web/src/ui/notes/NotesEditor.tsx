import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Note } from "../../api/types";
import { useApp, useStoreOf } from "../../app/AppContext";
import type { Target } from "../../state/notesEditing";
import { Button } from "../parts/Button";
import { ProblemBar } from "../parts/ProblemBar";
import { Skeleton } from "../parts/Skeleton";
import { EditNotes } from "./EditNotes";
import { NotesDocument } from "./NotesDocument";
import { NotesHeader } from "./NotesHeader";
import { NoteVersions } from "./NoteVersions";
import { SettleDispute } from "./SettleDispute";
import { NOTES_KEY, useNotesEditing, useReturningFocus } from "./useNotesEditing";

/** The notes of the assistant: read, edited by section or as a whole, looked back on and brought back. */
export default function NotesEditor() {
  const { client } = useApp();
  const notes = useQuery({ queryKey: NOTES_KEY, queryFn: () => client.get<Note>("/api/notes") });
  const { editing, change, undoLast, cancel } = useNotesEditing();
  const { edit, dispute, isSaving, problem } = useStoreOf(editing.store, (state) => state);
  const [areVersionsShown, setVersionsShown] = useState(false);
  const beganAt = useReturningFocus(edit !== null);
  const note = notes.data;

  if (!note) {
    return notes.error ? (
      <ProblemBar actions={<Button onClick={() => void notes.refetch()}>Try again</Button>}>
        The notes cannot be read: {notes.error.message}
      </ProblemBar>
    ) : (
      <Skeleton className="h-40" />
    );
  }
  const begin = (target: Target, id: string) => {
    beganAt.current = id;
    setVersionsShown(false);
    editing.begin(target, note);
  };
  const restore = (text: string) => {
    setVersionsShown(false);
    void change(note, text);
  };
  const editor = edit && (
    <EditNotes
      edit={edit}
      state={{ isSaving, problem }}
      version={note.version}
      onType={editing.type}
      onSave={() => void editing.save()}
      onCancel={cancel}
    />
  );

  return (
    <div>
      <NotesHeader
        note={note}
        isBusy={edit !== null}
        areVersionsShown={areVersionsShown}
        onVersions={() => setVersionsShown(!areVersionsShown)}
        onBegin={begin}
        onUndo={() => void undoLast(note)}
      />
      {dispute ? (
        <SettleDispute
          pieces={dispute.pieces}
          isSaving={isSaving}
          onSettle={(choices) => void editing.settle(choices)}
          onBack={editing.reconsider}
        />
      ) : areVersionsShown && !edit ? (
        <NoteVersions note={note} onRestore={restore} />
      ) : (
        <NotesDocument
          note={note}
          edit={edit}
          editor={editor}
          onBegin={begin}
          onChange={(text) => void change(note, text)}
        />
      )}
    </div>
  );
}
