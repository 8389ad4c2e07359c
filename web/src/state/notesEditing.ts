import { createStore } from "zustand/vanilla";
import type { Client } from "../api/client";
import { asProblem, Problem } from "../api/problem";
import type { Note } from "../api/types";
import type { Drafts } from "./drafts";
import { type Choice, disputesIn, merge, type Piece, settled } from "./notesMerge";
import { sectionsOf, withNewSection, withSection } from "./notesSections";

/** What is edited: everything, one section by its place, or one that is not there yet. */
export type Target = { kind: "all" } | { kind: "new" } | { kind: "section"; at: number };

/** What is typed, and what it was begun from; that is kept so that somebody else's change can be joined to it. */
export interface Edit {
  target: Target;
  base: { text: string; version: number };
  title: string;
  text: string;
}

export interface NotesState {
  edit: Edit | null;
  /** What others wrote meanwhile, where it does not go together with what was typed. */
  dispute: { pieces: Piece[]; theirs: Note } | null;
  isSaving: boolean;
  problem: string | null;
}

/** How a change was saved. */
export interface Saved {
  note: Note;
  before: string;
  /** Whether somebody else's change is in it. */
  isMerged: boolean;
  /** Whether the server took something out. */
  isRedacted: boolean;
}

interface Parts {
  client: Client;
  drafts: Pick<Drafts, "get" | "set">;
  onSaved: (saved: Saved) => void;
}

const DRAFT = "#notes";
const MOST_TRIES = 5;
const STALE = 412;
const NOTHING: NotesState = { edit: null, dispute: null, isSaving: false, problem: null };

/** Write the whole notes as an edit wants them. */
export function textOf({ target, base, title, text }: Edit): string {
  if (target.kind === "all") return text;
  if (target.kind === "new") return withNewSection(base.text, title, text);
  const section = sectionsOf(base.text)[target.at];
  return section ? withSection(base.text, section, text) : base.text;
}

/** Whether an edit would change anything. */
export const isChanged = (edit: Edit): boolean =>
  edit.target.kind === "new" ? `${edit.title}${edit.text}`.trim() !== "" : textOf(edit) !== edit.base.text;

/**
 * Change the notes without losing what somebody else, mostly the model, writes meanwhile.
 *
 * A change is saved only onto the version it was made from. If there is a newer one, both changes are joined, and
 * where they do not go together the user decides. What is typed outlives the page until it is saved or dropped.
 */
export function createNotesEditing({ client, drafts, onSaved }: Parts) {
  const store = createStore<NotesState>(() => ({ ...NOTHING, edit: draftIn(drafts.get(DRAFT)) }));

  const show = (edit: Edit | null) => {
    drafts.set(DRAFT, edit ? JSON.stringify(edit) : "");
    store.setState({ ...NOTHING, edit });
  };

  /** Save a whole text that was made of a version; false if it disagrees with what came meanwhile. */
  async function put(base: Edit["base"], mine: string): Promise<boolean> {
    let { version } = base;
    let before = base.text;
    let text = mine;
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      try {
        const body = { operation: "overwrite", content: text };
        const note = await client.post<Note>("/api/notes/operations", body, { version });
        onSaved({ note, before, isMerged: before !== base.text, isRedacted: note.notes !== text });
        return true;
      } catch (error) {
        if (asProblem(error).status !== STALE) throw error;
      }
      const theirs = await client.get<Note>("/api/notes");
      const pieces = merge(base.text, mine, theirs.notes);
      if (disputesIn(pieces).length) {
        store.setState({ dispute: { pieces, theirs } });
        return false;
      }
      text = settled(pieces, []);
      before = theirs.notes;
      version = theirs.version;
    }
    throw new Problem(409, "busy", "The notes change all the time. Try again in a moment.");
  }

  async function save(): Promise<void> {
    const { edit, isSaving } = store.getState();
    if (!edit || isSaving) return;
    if (!isChanged(edit)) return show(null);
    store.setState({ isSaving: true, problem: null, dispute: null });
    try {
      if (await put(edit.base, textOf(edit))) show(null);
    } catch (error) {
      store.setState({ problem: asProblem(error).message });
    } finally {
      store.setState({ isSaving: false });
    }
  }

  return {
    store,
    save,

    /** Begin to edit a part of the notes. */
    begin(target: Target, { notes, version }: Pick<Note, "notes" | "version">): void {
      const section = target.kind === "section" ? sectionsOf(notes)[target.at] : undefined;
      const text = target.kind === "all" ? notes : section ? notes.slice(section.start, section.end) : "";
      show({ target, base: { text: notes, version }, title: "", text });
    },

    /** Take what is typed. */
    type(typed: Partial<Pick<Edit, "title" | "text">>): void {
      const { edit } = store.getState();
      if (!edit) return;
      const changed = { ...edit, ...typed };
      drafts.set(DRAFT, JSON.stringify(changed));
      store.setState({ edit: changed });
    },

    /** Give up what is typed, and return it if there was something to lose. */
    drop(): Edit | null {
      const { edit } = store.getState();
      show(null);
      return edit && isChanged(edit) ? edit : null;
    },

    /** Go on with an edit that was given up. */
    resume: (edit: Edit) => show(edit),

    /** Change the notes at once, such as by deleting a section; a dispute is shown as that of an edit. */
    async change({ notes, version }: Pick<Note, "notes" | "version">, text: string): Promise<void> {
      const base = { text: notes, version };
      if (await put(base, text)) return;
      const { dispute } = store.getState();
      show({ target: { kind: "all" }, base, title: "", text });
      store.setState({ dispute });
    },

    /** Save what was typed and what came meanwhile, as the user decided. */
    async settle(choices: readonly Choice[]): Promise<void> {
      const { dispute } = store.getState();
      if (!dispute) return;
      const { notes, version } = dispute.theirs;
      const text = settled(dispute.pieces, choices);
      show({ target: { kind: "all" }, base: { text: notes, version }, title: "", text });
      await save();
    },

    /** Go back to what was typed; nothing is decided. */
    reconsider: () => store.setState({ dispute: null }),
  };
}

export type NotesEditing = ReturnType<typeof createNotesEditing>;

/** Read what an earlier page left. */
function draftIn(kept: string): Edit | null {
  try {
    const edit = JSON.parse(kept) as Edit;
    const isWhole = typeof edit.text === "string" && typeof edit.title === "string";
    return isWhole && typeof edit.base.text === "string" && typeof edit.base.version === "number" ? edit : null;
  } catch {
    return null;
  }
}
