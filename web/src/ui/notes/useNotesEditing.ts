import { useEffect, useRef, useState } from "react";
import { asProblem } from "../../api/problem";
import type { Note } from "../../api/types";
import { useApp } from "../../app/AppContext";
import { createNotesEditing, type NotesEditing, type Saved } from "../../state/notesEditing";

export const NOTES_KEY = ["notes", "now"];
const UNDO_SHOWN_FOR = 10_000;

/** Edit the notes of this app: what is saved is shown and told, with a way back. */
export function useNotesEditing() {
  const { client, drafts, notices, queries } = useApp();

  const told = ({ note, before, isMerged, isRedacted }: Saved, text = "Notes saved") => {
    queries.setQueryData<Note>(NOTES_KEY, note);
    void queries.invalidateQueries({ queryKey: ["notes"] });
    const merged = isMerged ? ", together with what changed meanwhile" : "";
    const redacted = isRedacted ? ". Something that looked like a secret was taken out" : "";
    const undo = { label: "Undo", act: () => void change(note, before) };
    notices.tell(`${text}${merged}${redacted}`, { action: undo, milliseconds: UNDO_SHOWN_FOR });
  };
  const [editing] = useState<NotesEditing>(() => createNotesEditing({ client, drafts, onSaved: told }));

  const attempt = async (work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      notices.tell(`The notes were not changed: ${asProblem(error).message}`, { kind: "problem" });
    }
  };
  const change = (note: Note, text: string) => attempt(() => editing.change(note, text));

  return {
    editing,
    change,

    /** Take back the last change, whoever made it. */
    undoLast: (now: Note) =>
      attempt(async () => {
        const note = await client.post<Note>("/api/notes/undo", undefined);
        told({ note, before: now.notes, isMerged: false, isRedacted: false }, "The last change was taken back");
      }),

    /** Stop editing; what was typed can be brought back for a while. */
    cancel() {
      const dropped = editing.drop();
      if (!dropped) return;
      const bringBack = { label: "Bring back", act: () => editing.resume(dropped) };
      notices.tell("Your text was not saved", { action: bringBack, milliseconds: UNDO_SHOWN_FOR });
    },
  };
}

/** Remember what began something, and give it the focus again when that has ended. */
export function useReturningFocus(isUnderWay: boolean) {
  const from = useRef<string | null>(null);
  useEffect(() => {
    if (isUnderWay || from.current === null) return;
    const { activeElement } = document;
    // Whoever went elsewhere meanwhile stays there.
    if (activeElement === null || activeElement === document.body) document.getElementById(from.current)?.focus();
    from.current = null;
  }, [isUnderWay]);
  return from;
}
