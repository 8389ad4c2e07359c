import { useQuery } from "@tanstack/react-query";
import type { Note, ServerSettings } from "../../api/types";
import { useApp } from "../../app/AppContext";
import { SETTINGS_KEY } from "../../app/compose";
import type { Target } from "../../state/notesEditing";
import { PencilIcon, PlusIcon } from "../icons";
import { Button } from "../parts/Button";
import { When } from "../parts/When";

interface NotesHeaderProps {
  note: Note;
  /** Something is edited, or has to be decided. */
  isBusy: boolean;
  areVersionsShown: boolean;
  onVersions: () => void;
  onBegin: (target: Target, id: string) => void;
  onUndo: () => void;
}

/** What the notes are, how old, and what can be done with all of them. */
export function NotesHeader({ note, isBusy, areVersionsShown, onVersions, onBegin, onUndo }: NotesHeaderProps) {
  const { client } = useApp();
  const settings = useQuery({ queryKey: SETTINGS_KEY, queryFn: () => client.get<ServerSettings>("/api/settings") });
  const isUsed = settings.data ? settings.data.user.memory_enabled && settings.data.features.memory : true;
  return (
    <header className="mb-2 flex flex-col gap-3 border-line border-b pb-4">
      <div>
        <h2 className="font-semibold text-lg">Notes</h2>
        <p className="text-sm text-soft">
          What the assistant keeps about you in its own words.{" "}
          {isUsed ? "All of it stands in every prompt." : "Memory is off, so no reply uses it now."}
        </p>
        {note.version > 0 && (
          <p className="mt-1 text-soft text-xs">
            Version {note.version}
            {note.updated_at && (
              <>
                , changed <When at={note.updated_at} />
              </>
            )}
          </p>
        )}
      </div>
      <div className="flex flex-wrap gap-2">
        <Button id="notes-add" disabled={isBusy} onClick={() => onBegin({ kind: "new" }, "notes-add")}>
          <PlusIcon /> Add a section
        </Button>
        {note.notes !== "" && (
          <Button id="notes-all" disabled={isBusy} onClick={() => onBegin({ kind: "all" }, "notes-all")}>
            <PencilIcon /> Edit all
          </Button>
        )}
        {note.version > 0 && (
          <>
            <Button
              disabled={isBusy}
              look={areVersionsShown ? "solid" : "plain"}
              aria-pressed={areVersionsShown}
              onClick={onVersions}
            >
              Versions
            </Button>
            <Button look="quiet" disabled={isBusy} onClick={onUndo}>
              Undo the last change
            </Button>
          </>
        )}
      </div>
    </header>
  );
}
