import { useId, useMemo, useState } from "react";
import type { Note, NoteVersion } from "../../api/types";
import { lineDiff, sizeOf } from "../../state/notesDiff";
import { addressOf } from "../../state/route";
import { ChevronRightIcon } from "../icons";
import { Button } from "../parts/Button";
import { When } from "../parts/When";
import { LineDiff } from "./LineDiff";

const OPERATIONS: Record<string, string> = {
  overwrite: "Edited",
  append: "Added at the end",
  prepend: "Added at the beginning",
  replace_section_by_header: "Section replaced",
  delete_section_by_header: "Section deleted",
  delete_all_notes: "All deleted",
  erase: "Lines erased with their conversation",
};

interface NoteVersionRowProps {
  version: NoteVersion;
  /** The text before this change. */
  before: string;
  now: Note;
  isOpen: boolean;
  onToggle: () => void;
  onRestore: () => void;
}

/** One version: who made it and when, and, opened, what it changed. */
export function NoteVersionRow({ version, before, now, isOpen, onToggle, onRestore }: NoteVersionRowProps) {
  const panel = useId();
  const [isAgainstNow, setAgainstNow] = useState(false);
  const size = useMemo(() => sizeOf(lineDiff(before, version.notes)), [before, version.notes]);
  const isNow = version.version === now.version;
  const conversation = version.conversation_id;

  return (
    <li className="py-1">
      <button
        type="button"
        aria-expanded={isOpen}
        aria-controls={panel}
        onClick={onToggle}
        className="flex min-h-11 w-full items-center gap-2.5 rounded-control px-2 py-1.5 text-left text-sm hover:bg-sunken"
      >
        <ChevronRightIcon className={`size-4 text-soft transition-transform ${isOpen ? "rotate-90" : ""}`} />
        <span className="min-w-0 flex-1">
          <span className="font-medium">{OPERATIONS[version.operation] ?? version.operation}</span>
          {isNow && <span className="ml-2 rounded-full bg-accent-soft px-2 py-0.5 text-accent text-xs">now</span>}
          <span className="block text-soft text-xs">
            Version {version.version}, {whoMade(version)}, <When at={version.created_at} />
          </span>
        </span>
        <span className="shrink-0 text-soft text-xs tabular-nums">
          <span className="sr-only">
            {size.added} lines added, {size.removed} removed
          </span>
          <span aria-hidden="true">
            +{size.added} −{size.removed}
          </span>
        </span>
      </button>
      {isOpen && (
        <div id={panel} className="flex flex-col gap-2.5 px-2 pt-1 pb-3 sm:pl-9">
          <div className="flex flex-wrap items-center gap-2">
            {!isNow && (
              <>
                <Button
                  aria-pressed={!isAgainstNow}
                  look={isAgainstNow ? "quiet" : "plain"}
                  onClick={() => setAgainstNow(false)}
                >
                  What it changed
                </Button>
                <Button
                  aria-pressed={isAgainstNow}
                  look={isAgainstNow ? "plain" : "quiet"}
                  onClick={() => setAgainstNow(true)}
                >
                  What changed since
                </Button>
              </>
            )}
            {conversation !== null && (
              <a
                className="target inline-flex items-center px-2 text-accent text-sm underline underline-offset-4"
                href={addressOf({ page: "conversation", id: conversation })}
              >
                Open its conversation
              </a>
            )}
            {!isNow && (
              <Button className="sm:ml-auto" disabled={version.notes === now.notes} onClick={onRestore}>
                Restore this version
              </Button>
            )}
          </div>
          {isAgainstNow && !isNow ? (
            <LineDiff label="What changed since" before={version.notes} after={now.notes} />
          ) : (
            <LineDiff label="What it changed" before={before} after={version.notes} />
          )}
        </div>
      )}
    </li>
  );
}

function whoMade({ operation, conversation_id }: NoteVersion): string {
  if (operation === "erase") return "by an erasure";
  return conversation_id === null ? "by hand" : "by the assistant";
}
