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

/** Say what a key means; while text is typed, only keys that write nothing mean something. */
export function commandOf(pressed: Pressed, isTyping: boolean): Command | null {
  const isMod = pressed.ctrlKey || pressed.metaKey;
  if (isMod && !pressed.altKey && !pressed.shiftKey && pressed.key.toLowerCase() === "k") return "search";
  if (isMod || pressed.altKey) return null;
  if (pressed.key === "Escape") return "stop";
  return isTyping ? null : (BY_KEY[pressed.key] ?? null);
}
