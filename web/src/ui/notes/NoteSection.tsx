import { useState } from "react";
import type { Section } from "../../state/notesSections";
import { Markdown } from "../conversation/Markdown";
import { MoreIcon, PencilIcon, TrashIcon } from "../icons";
import { IconButton } from "../parts/IconButton";
import { Menu, MenuItem } from "../parts/Menu";
import { TitleField } from "../shell/TitleField";

interface NoteSectionProps {
  section: Section;
  /** Names the button that the focus returns to. */
  id: string;
  /** While something is edited there is nothing else to do. */
  isBusy: boolean;
  onEdit: () => void;
  onRename: (title: string) => void;
  onDelete: () => void;
}

// The page and the notes have headings of their own above these.
const HEADINGS = ["h3", "h4", "h5", "h6"] as const;
const SIZES = ["text-base", "text-[0.95rem]", "text-sm", "text-sm"] as const;

/** A section of the notes as it reads, and what can be done with it. */
export function NoteSection({ section, id, isBusy, onEdit, onRename, onDelete }: NoteSectionProps) {
  const [isRenaming, setRenaming] = useState(false);
  const { title, depth, body } = section;
  const name = title === null ? "the beginning" : `“${title}”`;
  const rank = Math.min(depth, HEADINGS.length - 1);
  const Heading = HEADINGS[rank] ?? "h6";

  const rename = (changed: string | null) => {
    setRenaming(false);
    if (changed) onRename(changed);
  };

  return (
    <section className={`group relative py-3 ${depth ? "border-line border-l-2 pl-4" : ""}`}>
      <div className={`flex min-h-9 gap-1 ${title === null ? "items-start" : "items-center"}`}>
        <div className="min-w-0 flex-1">
          {isRenaming && title !== null ? (
            <TitleField title={title} onDone={rename} className="max-w-md" />
          ) : (
            title !== null && (
              <Heading className={`font-semibold [overflow-wrap:anywhere] ${SIZES[rank]}`}>
                {title || "Untitled"}
              </Heading>
            )
          )}
          {title === null && <Markdown text={body} />}
        </div>
        {!isBusy && !isRenaming && (
          <div className="quiet-tools flex shrink-0">
            <IconButton id={id} label={`Edit ${name}`} onClick={onEdit}>
              <PencilIcon />
            </IconButton>
            <Menu
              trigger={
                <IconButton label={`More for ${name}`}>
                  <MoreIcon />
                </IconButton>
              }
            >
              {title !== null && (
                <MenuItem icon={<PencilIcon />} onSelect={() => setRenaming(true)}>
                  Rename
                </MenuItem>
              )}
              <MenuItem icon={<TrashIcon />} isDangerous onSelect={onDelete}>
                Delete
              </MenuItem>
            </Menu>
          </div>
        )}
      </div>
      {title !== null && body.trim() && (
        <div className="mt-1">
          <Markdown text={body} />
        </div>
      )}
    </section>
  );
}
