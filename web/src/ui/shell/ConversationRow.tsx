import { type KeyboardEvent, memo, useState } from "react";
import type { ListedConversation } from "../../api/types";
import { useApp, useStoreOf } from "../../app/AppContext";
import { foundWords } from "../../state/foundWords";
import { addressOf } from "../../state/route";
import { ArchiveIcon, MoreIcon, PencilIcon, PinIcon, TrashIcon } from "../icons";
import { IconButton } from "../parts/IconButton";
import { Menu, MenuItem, MenuLine } from "../parts/Menu";
import { TitleField } from "./TitleField";

interface ConversationRowProps {
  item: ListedConversation;
  search: string;
}

export const ConversationRow = memo(function ConversationRow({ item, search }: ConversationRowProps) {
  const { router, actions } = useApp();
  const isHere = useStoreOf(router.store, ({ route }) => route.page === "conversation" && route.id === item.id);
  const [isRenaming, setRenaming] = useState(false);
  const title = item.title || "Untitled";

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

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "F2") setRenaming(true);
    else if (event.key === "Delete") {
      focusNeighbour(event.currentTarget);
      actions.remove(item);
    } else return;
    event.preventDefault();
  };

  return (
    <div
      className={`group relative flex items-center rounded-control ${isHere ? "bg-accent-soft" : "hover:bg-sunken"}`}
    >
      <a
        data-conversation
        href={addressOf({ page: "conversation", id: item.id })}
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
          <MenuItem icon={<ArchiveIcon />} onSelect={() => void actions.archive(item, !item.is_archived)}>
            {item.is_archived ? "Restore" : "Archive"}
          </MenuItem>
          <MenuLine />
          <MenuItem icon={<TrashIcon />} isDangerous onSelect={() => actions.remove(item)}>
            Delete
          </MenuItem>
        </Menu>
      </span>
    </div>
  );
});

/** A row that goes leaves the focus to the next one. */
function focusNeighbour(row: Element): void {
  const rows = [...document.querySelectorAll<HTMLElement>("a[data-conversation]")];
  const at = rows.indexOf(row as HTMLElement);
  (rows[at + 1] ?? rows[at - 1])?.focus();
}

function Snippet({ text, search }: { text: string; search: string }) {
  return (
    <span className="mt-0.5 line-clamp-2 text-soft text-xs">
      {foundWords(text, search).map((piece) =>
        piece.isFound ? <mark key={piece.at}>{piece.text}</mark> : <span key={piece.at}>{piece.text}</span>,
      )}
    </span>
  );
}
