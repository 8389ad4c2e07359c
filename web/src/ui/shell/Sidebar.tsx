import { useDeferredValue, useEffect, useRef, useState } from "react";
import { useApp, useStoreOf } from "../../app/AppContext";
import {
  ArchiveIcon,
  BrainIcon,
  ChartIcon,
  ChevronLeftIcon,
  CloseIcon,
  GearIcon,
  GhostIcon,
  KeyboardIcon,
  PlusIcon,
  SearchIcon,
} from "../icons";
import { Button } from "../parts/Button";
import { IconButton } from "../parts/IconButton";
import { TextField } from "../parts/TextField";
import { ConversationList } from "./ConversationList";
import { PageLink } from "./PageLink";
import { UnsentElsewhere } from "./UnsentElsewhere";

export function Sidebar() {
  const { router, layout } = useApp();
  const [search, setSearch] = useState("");
  const [isArchived, setArchived] = useState(false);
  const words = useSettled(useDeferredValue(search.trim()));
  const isWanted = useStoreOf(layout.store, (state) => state.wanted === "search");
  const field = useRef<HTMLInputElement>(null);
  const box = useRef<HTMLDivElement>(null);

  useEffect(() => {
    // On a small screen there are two sidebars, and the one behind the drawer is not shown.
    if (!isWanted || !field.current?.offsetParent) return;
    field.current.select();
    layout.served();
  }, [isWanted, layout]);

  return (
    <div ref={box} className="flex min-w-0 flex-1 flex-col bg-page">
      <div className="flex items-center justify-between gap-2 px-3 pt-3 pb-2">
        <span className="flex items-center gap-2 pl-1 font-semibold tracking-tight">
          <img src="./icon.svg" alt="" className="size-6" />
          Recollect
        </span>
        <IconButton label="Temporary conversation" hint="Shift+N" onClick={() => router.go({ page: "temporary" })}>
          <GhostIcon />
        </IconButton>
      </div>
      <div className="flex flex-col gap-2 px-3 pb-2">
        <Button look="solid" className="w-full" onClick={() => router.go({ page: "new" })}>
          <PlusIcon className="size-4" />
          New conversation
        </Button>
        <TextField
          ref={field}
          label="Search conversations"
          placeholder="Search"
          type="search"
          icon={<SearchIcon className="size-4" />}
          value={search}
          onChange={(event) => setSearch(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape" && search) {
              event.preventDefault();
              setSearch("");
            } else if (event.key === "ArrowDown") {
              event.preventDefault();
              box.current?.querySelector<HTMLElement>("a[data-conversation]")?.focus();
            }
          }}
          end={
            search && (
              <IconButton label="Clear the search" isSmall className="-mr-1.5" onClick={() => setSearch("")}>
                <CloseIcon className="size-4" />
              </IconButton>
            )
          }
        />
      </div>
      <UnsentElsewhere />
      {isArchived && !words && (
        <button
          type="button"
          className="target mx-3 mb-1 flex items-center gap-1.5 rounded-control px-1 py-1.5 font-medium text-sm hover:bg-sunken"
          onClick={() => setArchived(false)}
        >
          <ChevronLeftIcon className="size-4" />
          Archived conversations
        </button>
      )}
      <ConversationList search={words} isArchived={isArchived} />
      <nav aria-label="Pages" className="flex items-center justify-between border-line border-t px-2 py-1.5">
        <PageLink page="memories" label="Memories" hint="M" icon={<BrainIcon />} />
        <PageLink page="overview" label="Overview" hint="O" icon={<ChartIcon />} />
        <IconButton
          label="Archived conversations"
          aria-pressed={isArchived}
          className={isArchived ? "bg-sunken !text-ink" : ""}
          onClick={() => setArchived(!isArchived)}
        >
          <ArchiveIcon />
        </IconButton>
        <IconButton label="Keyboard map" hint="?" onClick={() => layout.setKeyboardMap(true)}>
          <KeyboardIcon />
        </IconButton>
        <PageLink page="settings" label="Settings" hint="," icon={<GearIcon />} />
      </nav>
    </div>
  );
}

const SETTLED_AFTER = 180;

/** A text once it has stopped changing, so that not every letter is searched for. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), text ? SETTLED_AFTER : 0);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
