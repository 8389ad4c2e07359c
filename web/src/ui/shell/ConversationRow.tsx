import { type KeyboardEvent, memo, useRef, useState } from "react";
import type { ListedConversation } from "../../api/types";
import { useApp, useStoreOf } from "../../app/AppContext";
import { foundWords } from "../../state/foundWords";
import { addressOf } from "../../state/route";
import { ArchiveIcon, MoreIcon, PencilIcon, PinIcon, TrashIcon } from "../icons";
import { IconButton } from "../parts/IconButton";
import { Menu, MenuItem, MenuLine } from "../parts/Menu";
import { rowsAsSeen } from "./rowsAsSeen";
import { TitleField } from "./TitleField";

interface ConversationRowProps {
  item: ListedConversation;
  search: string;
}

export const ConversationRow = memo(function ConversationRow({ item, search }: ConversationRowProps) {
  const { router, actions } = useApp();
  const isHere = useStoreOf(router.store, ({ route }) => route.page === "conversation" && route.id === item.id);
  const [isRenaming, setRenaming] = useState(false);
  const link = useRef<HTMLAnchorElement>(null);
  const title = item.title || "Untitled";
  const found = { page: "conversation", id: item.id } as const;

  if (isRenaming) {
    return (
      <TitleField
        title={item.title ?? ""}
        onDone={(changed) => {
          setRenaming(false);
          if (changed) void actions.rename(item.id, changed);
        }}
      />
    );
  }

  const leaveList = (act: () => void) => {
    focusNeighbour(link.current);
    act();
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "F2") setRenaming(true);
    else if (event.key === "Delete") leaveList(() => actions.remove(item));
    else return;
    event.preventDefault();
  };

  return (
    <div
      className={`group relative flex items-center rounded-control ${isHere ? "bg-accent-soft" : "hover:bg-sunken"}`}
    >
      <a
        ref={link}
        data-conversation
        href={addressOf(search && item.message_id ? { ...found, messageId: item.message_id, quote: search } : found)}
        aria-current={isHere ? "page" : undefined}
        className="min-w-0 flex-1 rounded-control px-2 py-1.5 group-focus-within:pr-9 group-hover:pr-9 pointer-coarse:py-2.5 pointer-coarse:pr-12"
        onKeyDown={onKeyDown}
      >
        <span className={`block truncate text-sm ${isHere ? "font-medium" : ""}`}>
          {item.is_pinned && <PinIcon className="-mt-0.5 mr-1 inline size-3.5 text-soft" />}
          {title}
          {search && item.is_archived && <span className="text-soft text-xs"> · archived</span>}
        </span>
        {search && item.snippet && <Snippet text={item.snippet} search={search} />}
      </a>
      <span className="quiet-tools absolute right-1 flex">
        <Menu
          trigger={
            <IconButton label={`More for ${title}`} isSmall>
              <MoreIcon />
            </IconButton>
          }
        >
          <MenuItem icon={<PencilIcon />} onSelect={() => setRenaming(true)}>
            Rename
          </MenuItem>
          <MenuItem icon={<PinIcon />} onSelect={() => void actions.pin(item.id, !item.is_pinned)}>
            {item.is_pinned ? "Unpin" : "Pin"}
          </MenuItem>
          <MenuItem
            icon={<ArchiveIcon />}
            onSelect={() => afterMenu(() => leaveList(() => void actions.archive(item, !item.is_archived)))}
          >
            {item.is_archived ? "Restore" : "Archive"}
          </MenuItem>
          <MenuLine />
          <MenuItem
            icon={<TrashIcon />}
            isDangerous
            onSelect={() => afterMenu(() => leaveList(() => actions.remove(item)))}
          >
            Delete
          </MenuItem>
        </Menu>
      </span>
    </div>
  );
});

/** A menu that closes gives the focus back to its button first. */
function afterMenu(act: () => void): void {
  setTimeout(act, 0);
}

/** A row that goes leaves the focus to the next one. */
function focusNeighbour(row: HTMLElement | null): void {
  const list = row?.closest("ul");
  if (!row || !list) return;
  const rows = rowsAsSeen(list);
  const at = rows.indexOf(row);
  (rows[at + 1] ?? rows[at - 1])?.focus();
}

function Snippet({ text, search }: { text: string; search: string }) {
  return (
    <span className="mt-0.5 line-clamp-2 text-soft text-xs">
      {foundWords(text, search).map((piece) =>
        piece.isFound ? (
          // What is soft beside it would be too faint on the colour of what was found.
          <mark key={piece.at} className="text-ink">
            {piece.text}
          </mark>
        ) : (
          <span key={piece.at}>{piece.text}</span>
        ),
      )}
    </span>
  );
}
