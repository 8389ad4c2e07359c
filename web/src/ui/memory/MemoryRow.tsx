import { type KeyboardEvent, type MouseEvent, memo, useState } from "react";
import type { Memory } from "../../api/types";
import { useStoreOf } from "../../app/AppContext";
import { foundWords } from "../../state/foundWords";
import { ArchiveIcon, MoreIcon, PencilIcon, PinIcon, TrashIcon } from "../icons";
import { IconButton } from "../parts/IconButton";
import { Menu, MenuItem, MenuLine } from "../parts/Menu";
import { Checkbox } from "./Checkbox";
import { EditMemory } from "./EditMemory";
import { useMemories } from "./MemoryContext";
import { MemoryMeta } from "./MemoryMeta";
import { ReviewTools } from "./ReviewTools";
import { focusRow, useMemoryPlace } from "./useMemoryPlace";

interface MemoryRowProps {
  memory: Memory;
  words: string;
  /** Why it is listed. */
  why?: string;
  /** The ids of the list, for a range; without them nothing is chosen. */
  listed?: () => string[];
}

/** One memory of the list. */
export const MemoryRow = memo(function MemoryRow({ memory, words, why, listed }: MemoryRowProps) {
  const { actions, selection } = useMemories();
  const { memoryId, addressFor } = useMemoryPlace();
  const isSelected = useStoreOf(selection.store, ({ ids }) => ids.has(memory.id));
  const [isEditing, setEditing] = useState(false);
  const isHere = memoryId === memory.id;
  const name = shortened(memory.content);

  if (isEditing) {
    const leave = () => {
      setEditing(false);
      focusRow(memory.id);
    };
    return (
      <div className="my-1 rounded-panel border border-line bg-page p-3">
        <EditMemory memory={memory} onDone={leave} />
      </div>
    );
  }

  const choose = (isRange: boolean) => {
    if (isRange && listed) selection.reach(memory.id, listed());
    else selection.toggle(memory.id);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "F2") setEditing(true);
    else if (event.key === "Delete") {
      focusNeighbour(event.currentTarget);
      void actions.remove([memory]);
    } else if (event.key === " " && listed) choose(event.shiftKey);
    else return;
    event.preventDefault();
  };
  // Shift chooses a range instead of opening another window.
  const onClick = (event: MouseEvent) => {
    if (!event.shiftKey || !listed) return;
    event.preventDefault();
    choose(true);
  };

  return (
    <div
      className={`group relative flex items-start gap-1 border-line border-b py-1.5 pl-1 ${isHere ? "bg-accent-soft" : isSelected ? "bg-sunken" : "hover:bg-page"}`}
    >
      {listed && <Checkbox label={`Select: ${name}`} isChecked={isSelected} onToggle={choose} />}
      <div className="min-w-0 flex-1">
        <a
          data-memory={memory.id}
          href={addressFor(memory.id)}
          aria-current={isHere ? "true" : undefined}
          onKeyDown={onKeyDown}
          onClick={onClick}
          className="block min-w-0 rounded-control px-1.5 py-0.5 pointer-coarse:py-2"
        >
          <span className={`line-clamp-3 break-words ${memory.valid_to ? "text-soft line-through" : ""}`}>
            {words
              ? foundWords(memory.content, words).map((piece) =>
                  piece.isFound ? <mark key={piece.at}>{piece.text}</mark> : <span key={piece.at}>{piece.text}</span>,
                )
              : memory.content}
          </span>
          <span className="mt-1 block">
            <MemoryMeta memory={memory} />
          </span>
        </a>
        {why && <p className="mt-0.5 px-1.5 text-accent text-xs">{why}</p>}
        {memory.trust !== "active" && <ReviewTools memory={memory} onEdit={() => setEditing(true)} />}
      </div>
      {memory.trust === "active" && (
        <span className="quiet-tools flex shrink-0 pr-1">
          <IconButton
            label={memory.is_pinned ? `Unpin: ${name}` : `Pin: ${name}`}
            isSmall
            className="max-sm:!hidden"
            onClick={() => void actions.pin([memory], !memory.is_pinned)}
          >
            <PinIcon />
          </IconButton>
          <Menu
            trigger={
              <IconButton label={`More for: ${name}`} isSmall>
                <MoreIcon />
              </IconButton>
            }
          >
            <MenuItem icon={<PencilIcon />} onSelect={() => setEditing(true)}>
              Edit
            </MenuItem>
            <MenuItem icon={<PinIcon />} onSelect={() => void actions.pin([memory], !memory.is_pinned)}>
              {memory.is_pinned ? "Unpin" : "Pin"}
            </MenuItem>
            <MenuItem icon={<ArchiveIcon />} onSelect={() => void actions.archive([memory], !memory.is_archived)}>
              {memory.is_archived ? "Restore" : "Archive"}
            </MenuItem>
            <MenuLine />
            <MenuItem icon={<TrashIcon />} isDangerous onSelect={() => void actions.remove([memory])}>
              Delete
            </MenuItem>
          </Menu>
        </span>
      )}
    </div>
  );
});

/** A row that goes leaves the focus to the next one. */
function focusNeighbour(row: Element): void {
  const rows = [...document.querySelectorAll<HTMLElement>("a[data-memory]")];
  const at = rows.indexOf(row as HTMLElement);
  (rows[at + 1] ?? rows[at - 1])?.focus();
}

/** Name a memory in a label. */
export function shortened(content: string): string {
  return content.length > 60 ? `${content.slice(0, 59)}…` : content;
}
