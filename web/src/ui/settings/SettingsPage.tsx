import { useApp, useStoreOf } from "../../app/AppContext";
import type { Theme } from "../../state/theme";
import { Button } from "../parts/Button";
import { PageFrame } from "../shell/PageFrame";

const THEMES: { theme: Theme; label: string }[] = [
  { theme: "system", label: "As the system" },
  { theme: "light", label: "Light" },
  { theme: "dark", label: "Dark" },
];

export default function SettingsPage() {
  const { theme } = useApp();
  const chosen = useStoreOf(theme.store, (state) => state.theme);
  return (
    <PageFrame title="Settings">
      <fieldset>
        <legend className="mb-2 font-medium">Appearance</legend>
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
    </PageFrame>
  );
}
