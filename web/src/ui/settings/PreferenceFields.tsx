import { useState } from "react";
import type { ServerSettings } from "../../api/types";
import { useApp, useStoreOf } from "../../app/AppContext";
import { SETTINGS_KEY } from "../../app/compose";
import { createPreferences } from "../../state/preferences";
import { ProblemBar } from "../parts/ProblemBar";
import { InstructionsField } from "./InstructionsField";
import { SettingsSection } from "./SettingsSection";
import { Switch } from "./Switch";

/** What the user sets for themselves, on all devices. */
export function PreferenceFields({ settings }: { settings: ServerSettings }) {
  const { client, drafts, notices, queries } = useApp();
  const [preferences] = useState(() =>
    createPreferences({
      client,
      drafts,
      known: () => queries.getQueryData<ServerSettings>(SETTINGS_KEY),
      show: (shown) => queries.setQueryData(SETTINGS_KEY, shown),
    }),
  );
  const state = useStoreOf(preferences.store, (one) => one);
  const { user, features } = settings;

  const turn = async (isOn: boolean) => {
    if (!(await preferences.setMemory(isOn))) return;
    notices.tell(isOn ? "Memory is on" : "Memory is off", {
      action: { label: "Undo", act: () => void preferences.setMemory(!isOn) },
    });
  };

  return (
    <SettingsSection title="Memory and replies" text="Hold for you on every device, from the next message on.">
      <div className="flex flex-col gap-6">
        {features.memory ? (
          <Switch
            label="Memory"
            isOn={user.memory_enabled}
            disabled={state.isSaving}
            onTurn={(isOn) => void turn(isOn)}
          >
            {user.memory_enabled
              ? "What you say is learned from and recalled later."
              : "Nothing is recalled, learned or noted, and what you say now is not learned later either. What is stored stays."}
          </Switch>
        ) : (
          <ProblemBar>This server runs without memory: nothing is recalled or learned for anybody.</ProblemBar>
        )}
        <InstructionsField settings={settings} preferences={preferences} />
        {state.problem && <ProblemBar>Not saved: {state.problem} Try again in a moment.</ProblemBar>}
      </div>
    </SettingsSection>
  );
}
