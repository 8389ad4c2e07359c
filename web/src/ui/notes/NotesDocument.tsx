import type { ReactNode } from "react";
import type { Note } from "../../api/types";
import type { NotesState, Target } from "../../state/notesEditing";
import { type Section, sectionsOf, withSection, withTitle } from "../../state/notesSections";
import { PencilIcon } from "../icons";
import { EmptyState } from "../parts/EmptyState";
import { NoteSection } from "./NoteSection";

interface NotesDocumentProps {
  note: Note;
  edit: NotesState["edit"];
  /** Stands in the place of what is edited. */
  editor: ReactNode;
  onBegin: (target: Target, id: string) => void;
  onChange: (text: string) => void;
}

/** The notes section by section; the one that is edited is shown as it was when that began. */
export function NotesDocument({ note, edit, editor, onBegin, onChange }: NotesDocumentProps) {
  if (edit?.target.kind === "all") return editor;
  const text = edit ? edit.base.text : note.notes;
  const sections = sectionsOf(text);
  const edited = edit?.target.kind === "section" ? sections[edit.target.at] : undefined;
  const isInEdited = (one: Section) => edited !== undefined && one.start > edited.start && one.end <= edited.end;

  if (sections.length === 0 && !edit) {
    return (
      <EmptyState icon={<PencilIcon className="size-6" />} title="No notes yet">
        The assistant writes here what it wants to keep in mind about you. You can begin, too: add a section.
      </EmptyState>
    );
  }
  return (
    <>
      {sections.map((section, at) => {
        if (section === edited) return <div key={section.start}>{editor}</div>;
        // The text of a section that is edited holds the sections in it.
        if (isInEdited(section)) return null;
        return (
          <NoteSection
            key={section.start}
            section={section}
            id={`notes-section-${at}`}
            isBusy={edit !== null}
            onEdit={() => onBegin({ kind: "section", at }, `notes-section-${at}`)}
            onRename={(title) => onChange(withTitle(text, section, title))}
            onDelete={() => onChange(withSection(text, section, ""))}
          />
        );
      })}
      {edit && !edited && editor}
    </>
  );
}
