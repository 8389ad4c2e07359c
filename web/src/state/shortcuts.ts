import { createStore } from "zustand/vanilla";
import type { Storage } from "./drafts";

/** Everything that a key does; the keyboard map shows these, and only these. */
export const SHORTCUTS = [
  { command: "search", keys: ["mod", "K"], says: "Search conversations" },
  { command: "new", keys: ["N"], says: "New conversation" },
  { command: "temporary", keys: ["Shift", "N"], says: "Temporary conversation" },
  { command: "composer", keys: ["C"], says: "Write a message" },
  { command: "rename", keys: ["R"], says: "Rename this conversation" },
  { command: "previous", keys: ["["], says: "Conversation above in the list" },
  { command: "next", keys: ["]"], says: "Conversation below in the list" },
  { command: "memories", keys: ["M"], says: "Memories" },
  { command: "overview", keys: ["O"], says: "Overview" },
  { command: "settings", keys: [","], says: "Settings" },
  { command: "undo", keys: ["Z"], says: "Undo, while a notice offers it" },
  { command: "stop", keys: ["Esc"], says: "Stop the reply, or leave the field" },
  { command: "help", keys: ["?"], says: "Show this map" },
] as const;

export type Command = (typeof SHORTCUTS)[number]["command"];

/** Keys that the composer handles itself; the map shows them too. */
export const COMPOSER_KEYS = [
  { keys: ["Enter"], says: "Send" },
  { keys: ["Shift", "Enter"], says: "New line" },
] as const;

export interface Pressed {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  shiftKey: boolean;
}

const BY_KEY: Record<string, Command> = {
  n: "new",
  N: "temporary",
  c: "composer",
  r: "rename",
  "[": "previous",
  "]": "next",
  m: "memories",
  o: "overview",
  ",": "settings",
  z: "undo",
  "?": "help",
};

/** Say what a key means; where single keys are not wanted, as while text is typed, only those that write nothing do. */
export function commandOf(pressed: Pressed, isPlain: boolean): Command | null {
  const isMod = pressed.ctrlKey || pressed.metaKey;
  if (isMod && !pressed.altKey && !pressed.shiftKey && pressed.key.toLowerCase() === "k") return "search";
  if (isMod || pressed.altKey) return null;
  if (pressed.key === "Escape") return "stop";
  return isPlain ? null : (BY_KEY[pressed.key] ?? null);
}

const NAME = "recollect.single-keys";

/** Whether single keys do something: who speaks to the computer, or touches keys by chance, turns them off. */
export function createSingleKeys(storage: Storage | null) {
  let kept: string | null = null;
  try {
    kept = storage?.getItem(NAME) ?? null;
  } catch {
    // The browser keeps nothing: they are on.
  }
  const store = createStore<{ isOn: boolean }>(() => ({ isOn: kept !== "off" }));
  return {
    store,
    turn(isOn: boolean): void {
      store.setState({ isOn });
      try {
        storage?.setItem(NAME, isOn ? "on" : "off");
      } catch {
        // It holds for this page only.
      }
    },
  };
}
