import { useApp, useStoreOf } from "../../app/AppContext";
import type { Theme } from "../../state/theme";
import { KeyboardIcon } from "../icons";
import { Button } from "../parts/Button";
import { Kbd } from "../parts/Kbd";
import { SettingsSection } from "./SettingsSection";
import { Switch } from "./Switch";

const THEMES: { theme: Theme; label: string }[] = [
  { theme: "system", label: "As the system" },
  { theme: "light", label: "Light" },
  { theme: "dark", label: "Dark" },
];

/** How it looks and is used, in this browser alone. */
export function Appearance() {
  const { theme, layout, singleKeys } = useApp();
  const chosen = useStoreOf(theme.store, (state) => state.theme);
  const hasSingleKeys = useStoreOf(singleKeys.store, (state) => state.isOn);
  return (
    <SettingsSection title="Appearance" text="Holds in this browser.">
      <fieldset>
        <legend className="sr-only">Theme</legend>
        <div className="flex flex-wrap gap-2">
          {THEMES.map((one) => (
            <Button
              key={one.theme}
              aria-pressed={chosen === one.theme}
              look={chosen === one.theme ? "solid" : "plain"}
              onClick={() => theme.choose(one.theme)}
            >
              {one.label}
            </Button>
          ))}
        </div>
      </fieldset>
      <div className="mt-4">
        <Switch label="Single-key shortcuts" isOn={hasSingleKeys} onTurn={singleKeys.turn}>
          Such as N for a new conversation. Turn them off if you speak to your computer, or touch keys by chance.
        </Switch>
      </div>
      <Button look="quiet" className="-ml-3 mt-3" onClick={() => layout.setKeyboardMap(true)}>
        <KeyboardIcon /> Keyboard map <Kbd keys={["?"]} />
      </Button>
    </SettingsSection>
  );
}
