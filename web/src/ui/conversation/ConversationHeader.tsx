import { useEffect, useState } from "react";
import { useApp, useStoreOf } from "../../app/AppContext";
import { GhostIcon, MenuIcon } from "../icons";
import { IconButton } from "../parts/IconButton";
import { TitleField } from "../shell/TitleField";
import { ConversationMenu } from "./ConversationMenu";
import { SpentTokens } from "./SpentTokens";

export function ConversationHeader() {
  const { conversation, layout, actions } = useApp();
  const opened = useStoreOf(conversation.store, (state) => state.conversation);
  const isTemporary = useStoreOf(conversation.store, (state) => state.isTemporary);
  const isWanted = useStoreOf(layout.store, (state) => state.wanted === "rename");
  const [isRenaming, setRenaming] = useState(false);

  useEffect(() => {
    if (!isWanted) return;
    layout.served();
    if (opened) setRenaming(true);
  }, [isWanted, opened, layout]);

  const isMissing = useStoreOf(
    conversation.store,
    (state) => state.problem !== null && state.conversation === null && !state.pending,
  );
  const title = isTemporary
    ? "Temporary conversation"
    : opened?.title || (opened ? "Untitled" : isMissing ? "Conversation" : "New conversation");
  useEffect(() => {
    document.title = `${title} · Recollect`;
  }, [title]);

  return (
    <header className="flex min-h-14 items-center gap-1.5 border-line border-b px-3 md:px-4">
      <IconButton label="Conversations" className="md:!hidden" onClick={() => layout.setDrawer(true)}>
        <MenuIcon />
      </IconButton>
      {isTemporary && <GhostIcon className="mr-1 size-5 text-soft" />}
      <div className="min-w-0 flex-1">
        {isRenaming && opened ? (
          <TitleField
            title={opened.title ?? ""}
            className="max-w-md font-semibold"
            onDone={(changed) => {
              setRenaming(false);
              if (changed) void actions.rename(opened.id, changed);
            }}
          />
        ) : (
          <h1 className="truncate font-semibold">
            {opened ? (
              <button
                type="button"
                title="Rename"
                className="target max-w-full truncate rounded-control px-2 py-1 text-left hover:bg-sunken"
                onClick={() => setRenaming(true)}
              >
                {title}
              </button>
            ) : (
              <span className="px-2">{title}</span>
            )}
          </h1>
        )}
      </div>
      {opened && !isTemporary && (
        <>
          <SpentTokens id={opened.id} messages={opened.message_count} />
          <ConversationMenu opened={opened} onRename={() => setRenaming(true)} />
        </>
      )}
    </header>
  );
}
