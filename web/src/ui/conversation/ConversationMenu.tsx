import { lazy, Suspense, useState } from "react";
import { asProblem } from "../../api/problem";
import type { Conversation } from "../../api/types";
import { useApp } from "../../app/AppContext";
import { ArchiveIcon, DownloadIcon, EraserIcon, MoreIcon, PencilIcon, PinIcon, SparkIcon, TrashIcon } from "../icons";
import { IconButton } from "../parts/IconButton";
import { Menu, MenuItem, MenuLine } from "../parts/Menu";

const Confirm = lazy(() => import("../parts/Confirm"));
const ExtractDialog = lazy(() => import("../memory/ExtractDialog"));

interface ConversationMenuProps {
  opened: Conversation;
  onRename: () => void;
}

/** What can be done with the whole conversation. */
export function ConversationMenu({ opened, onRename }: ConversationMenuProps) {
  const { actions, conversation, notices } = useApp();
  const [isClearing, setClearing] = useState(false);
  const [isExtracting, setExtracting] = useState(false);

  const clear = async (isConfirmed: boolean) => {
    setClearing(false);
    if (!isConfirmed) return;
    try {
      await conversation.clear();
      notices.tell("The conversation is empty now");
    } catch (error) {
      notices.tell(`Not cleared: ${asProblem(error).message}`, { kind: "problem" });
    }
  };

  return (
    <>
      <IconButton
        label={opened.is_archived ? "Restore" : "Archive"}
        className="!hidden sm:!inline-flex"
        onClick={() => void actions.archive(opened, !opened.is_archived)}
      >
        <ArchiveIcon />
      </IconButton>
      <IconButton label="Delete" className="!hidden sm:!inline-flex" onClick={() => actions.remove(opened)}>
        <TrashIcon />
      </IconButton>
      <Menu
        trigger={
          <IconButton label="More for this conversation">
            <MoreIcon />
          </IconButton>
        }
      >
        <MenuItem icon={<PencilIcon />} onSelect={onRename}>
          Rename
        </MenuItem>
        <MenuItem icon={<PinIcon />} onSelect={() => void actions.pin(opened.id, !opened.is_pinned)}>
          {opened.is_pinned ? "Unpin" : "Pin"}
        </MenuItem>
        <MenuItem icon={<ArchiveIcon />} onSelect={() => void actions.archive(opened, !opened.is_archived)}>
          {opened.is_archived ? "Restore" : "Archive"}
        </MenuItem>
        <MenuItem icon={<SparkIcon />} disabled={opened.message_count === 0} onSelect={() => setExtracting(true)}>
          Extract memories
        </MenuItem>
        <MenuLine />
        <MenuItem icon={<DownloadIcon />} onSelect={() => download(actions.exportAddress(opened.id, "md"))}>
          Export as Markdown
        </MenuItem>
        <MenuItem icon={<DownloadIcon />} onSelect={() => download(actions.exportAddress(opened.id, "json"))}>
          Export as JSON
        </MenuItem>
        <MenuLine />
        <MenuItem
          icon={<EraserIcon />}
          isDangerous
          disabled={opened.message_count === 0}
          onSelect={() => setClearing(true)}
        >
          Clear messages
        </MenuItem>
        <MenuItem icon={<TrashIcon />} isDangerous onSelect={() => actions.remove(opened)}>
          Delete
        </MenuItem>
      </Menu>
      {isExtracting && (
        <Suspense>
          <ExtractDialog conversation={opened} onClose={() => setExtracting(false)} />
        </Suspense>
      )}
      {isClearing && (
        <Suspense>
          <Confirm
            isOpen
            title="Clear this conversation?"
            text="All its messages and summaries are erased, on all branches. This cannot be undone. What was learned from it stays."
            action="Clear messages"
            onAnswer={(isConfirmed) => void clear(isConfirmed)}
          />
        </Suspense>
      )}
    </>
  );
}

/** The server names the file and says that it is one to keep. */
function download(address: string): void {
  const link = document.createElement("a");
  link.href = address;
  link.download = "";
  link.click();
}
