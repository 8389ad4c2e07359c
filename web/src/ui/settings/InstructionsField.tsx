import { useId } from "react";
import type { ServerSettings } from "../../api/types";
import { useApp, useStoreOf } from "../../app/AppContext";
import type { Kept, PreferencesStore } from "../../state/preferences";
import { Button } from "../parts/Button";
import { ProblemBar } from "../parts/ProblemBar";
import { TextArea } from "../parts/TextArea";

interface InstructionsFieldProps {
  settings: ServerSettings;
  preferences: PreferencesStore;
}

/** What the user wants every reply to follow; saved when they say so. */
export function InstructionsField({ settings, preferences }: InstructionsFieldProps) {
  const { notices } = useApp();
  const { edit, theirs, isSaving } = useStoreOf(preferences.store, (state) => state);
  const hint = useId();
  const text = edit?.text ?? settings.user.instructions;
  const most = settings.limits.instruction_characters;
  // The server counts characters where a script counts halves of some.
  const length = [...text].length;
  const isTooLong = length > most;
  const isUsable = edit !== null && text !== settings.user.instructions && !isTooLong && !isSaving;

  const tell = (kept: Kept) => {
    if (kept === "saved") notices.tell("Instructions saved");
    if (kept === "redacted") notices.tell("Instructions saved. Something that looked like a secret was taken out");
  };
  const save = async () => {
    if (isUsable) tell(await preferences.save());
  };
  const takeTheirs = () => {
    const mine = edit?.text;
    preferences.drop();
    const bringBack = { label: "Bring mine back", act: () => mine !== undefined && preferences.type(mine) };
    notices.tell("Your text was not saved", { action: bringBack, milliseconds: 10_000 });
  };

  return (
    <div className="flex flex-col gap-2">
      <div>
        <h3 className="font-medium text-sm">Instructions</h3>
        <p id={hint} className="text-sm text-soft">
          What every reply is to follow, also in temporary conversations: who you are, how you like answers.
        </p>
      </div>
      <TextArea
        label="Instructions"
        aria-describedby={hint}
        aria-invalid={isTooLong}
        placeholder="Answer briefly. I am a nurse, so medical words are fine."
        rows={4}
        value={text}
        onText={preferences.type}
        onSave={() => void save()}
      />
      {theirs !== null && (
        <ProblemBar
          actions={
            <>
              <Button onClick={() => void preferences.keepMine().then(tell)}>Save mine</Button>
              <Button onClick={takeTheirs}>Keep theirs</Button>
            </>
          }
        >
          The instructions were changed elsewhere meanwhile. They are now: “{theirs || "empty"}”
        </ProblemBar>
      )}
      <div className="flex flex-wrap items-center justify-end gap-2">
        <span className={`mr-auto text-xs tabular-nums ${isTooLong ? "text-danger" : "text-soft"}`}>
          {isTooLong ? `${length - most} characters too long` : `${length} of ${most} characters`}
        </span>
        {edit && text !== settings.user.instructions && (
          <Button look="quiet" onClick={takeTheirs}>
            Discard
          </Button>
        )}
        <Button look="solid" disabled={!isUsable} onClick={() => void save()}>
          {isSaving ? "Saving…" : "Save"}
        </Button>
      </div>
    </div>
  );
}
