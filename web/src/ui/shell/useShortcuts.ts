import { useEffect } from "react";
import { useApp } from "../../app/AppContext";
import type { Composition } from "../../app/compose";
import { type Command, commandOf } from "../../state/shortcuts";
import { rowsAsSeen } from "./rowsAsSeen";

/** Do what keys ask for. */
export function useShortcuts(): void {
  const app = useApp();
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing) return;
      // Dialogs and menus have their own keys.
      if (document.querySelector("[role=dialog],[role=menu]")) return;
      const target = event.target instanceof HTMLElement ? event.target : null;
      const isTyping = target?.matches("input,textarea,select,[contenteditable]") ?? false;
      const command = commandOf(event, isTyping || !app.singleKeys.store.getState().isOn);
      if (command && carryOut(command, app)) event.preventDefault();
      // Out of a field the other keys mean something again.
      else if (command === "stop" && isTyping) document.getElementById("main")?.focus();
    };
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, [app]);
}

/** Carry out a command; false if there was nothing to do, so that the key keeps its usual meaning. */
function carryOut(command: Command, app: Composition): boolean {
  const { router, layout, conversation, notices } = app;
  switch (command) {
    case "search":
      layout.ask("search");
      return true;
    case "new":
    case "temporary":
      router.go({ page: command });
      layout.ask("composer");
      return true;
    case "composer":
      layout.ask("composer");
      return true;
    case "rename":
      layout.ask("rename");
      return true;
    case "previous":
      return openNeighbour(-1);
    case "next":
      return openNeighbour(1);
    case "memories":
    case "overview":
    case "settings":
      router.go({ page: command });
      return true;
    case "undo":
      return notices.undo();
    case "help":
      layout.setKeyboardMap(true);
      return true;
    case "stop":
      if (!conversation.store.getState().draft) return false;
      void conversation.stop();
      return true;
  }
}

/** Open the conversation beside the current one in the list; the list shows the order, so it is asked. */
function openNeighbour(step: 1 | -1): boolean {
  const rows = rowsAsSeen(document);
  const at = rows.findIndex((row) => row.getAttribute("aria-current") === "page");
  const row = rows[at < 0 ? 0 : at + step];
  row?.click();
  return row !== undefined;
}
