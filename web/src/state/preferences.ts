import { createStore } from "zustand/vanilla";
import type { Client } from "../api/client";
import { asProblem } from "../api/problem";
import type { ServerSettings } from "../api/types";
import type { Drafts } from "./drafts";

export type Preferences = ServerSettings["user"];

/** Instructions that are being written, and what they were when that began. */
export interface InstructionsEdit {
  text: string;
  base: string;
  version: number;
}

export interface PreferencesState {
  edit: InstructionsEdit | null;
  /** What was set elsewhere meanwhile, in other words than those that are being written. */
  theirs: string | null;
  isSaving: boolean;
  problem: string | null;
}

/** How a change went: saved as it was sent, or without a secret; null if it was not. */
export type Kept = "saved" | "redacted" | null;

interface Parts {
  client: Client;
  drafts: Pick<Drafts, "get" | "set">;
  /** What is known of the settings now. */
  known: () => ServerSettings | undefined;
  /** Show what the server said of them. */
  show: (settings: ServerSettings) => void;
}

const DRAFT = "#instructions";
const MOST_TRIES = 4;
const STALE = 412;

/** Change what the user sets for themselves; what another tab or device set meanwhile is never overwritten unseen. */
export function createPreferences({ client, drafts, known, show }: Parts) {
  const store = createStore<PreferencesState>(() => ({
    edit: editIn(drafts.get(DRAFT)),
    theirs: null,
    isSaving: false,
    problem: null,
  }));

  const setEdit = (edit: InstructionsEdit | null) => {
    drafts.set(DRAFT, edit ? JSON.stringify(edit) : "");
    store.setState({ edit, theirs: null, problem: null });
  };

  /** Set one preference; `isStill` decides with what came meanwhile whether to go on. */
  async function put(changes: Partial<Preferences>, version: number, isStill: (now: Preferences) => boolean) {
    let expected = version;
    for (let tries = 1; ; tries++) {
      try {
        const settings = await client.patch<ServerSettings>("/api/settings", changes, { version: expected });
        show(settings);
        return settings.user;
      } catch (error) {
        if (asProblem(error).status !== STALE || tries === MOST_TRIES) throw error;
      }
      const settings = await client.get<ServerSettings>("/api/settings");
      show(settings);
      if (!isStill(settings.user)) return null;
      expected = settings.user.version;
    }
  }

  async function attempt<T>(work: () => Promise<T>): Promise<T | null> {
    store.setState({ isSaving: true, problem: null });
    try {
      return await work();
    } catch (error) {
      store.setState({ problem: asProblem(error).message });
      return null;
    } finally {
      store.setState({ isSaving: false });
    }
  }

  async function save(): Promise<Kept> {
    const { edit, isSaving } = store.getState();
    if (!edit || isSaving) return null;
    const saved = await attempt(() =>
      put({ instructions: edit.text }, edit.version, ({ instructions }) => {
        const isFree = instructions === edit.base || instructions === edit.text;
        if (!isFree) store.setState({ theirs: instructions });
        return isFree;
      }),
    );
    if (!saved) return null;
    setEdit(null);
    return saved.instructions === edit.text ? "saved" : "redacted";
  }

  return {
    store,
    save,

    /** Turn memory on or off; true if it was. */
    async setMemory(isEnabled: boolean): Promise<boolean> {
      const user = known()?.user;
      if (!user || store.getState().isSaving) return false;
      const saved = await attempt(() => put({ memory_enabled: isEnabled }, user.version, () => true));
      return saved !== null;
    },

    /** Take what is typed. */
    type(text: string): void {
      const { edit } = store.getState();
      const user = known()?.user;
      const base = edit ?? (user && { base: user.instructions, version: user.version });
      if (!base) return;
      const changed = { text, base: base.base, version: base.version };
      drafts.set(DRAFT, JSON.stringify(changed));
      store.setState({ edit: changed });
    },

    /** Give up what is typed. */
    drop: () => setEdit(null),

    /** Save what is typed although something else was set meanwhile. */
    async keepMine(): Promise<Kept> {
      const { edit, theirs } = store.getState();
      const user = known()?.user;
      if (!edit || theirs === null || !user) return null;
      setEdit({ ...edit, base: user.instructions, version: user.version });
      return save();
    },
  };
}

export type PreferencesStore = ReturnType<typeof createPreferences>;

/** Read what an earlier page left. */
function editIn(kept: string): InstructionsEdit | null {
  try {
    const { text, base, version } = JSON.parse(kept) as InstructionsEdit;
    const isWhole = typeof text === "string" && typeof base === "string" && typeof version === "number";
    return isWhole ? { text, base, version } : null;
  } catch {
    return null;
  }
}
