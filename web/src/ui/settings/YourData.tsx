import type { ReactNode } from "react";
import type { ServerSettings } from "../../api/types";
import { DownloadIcon } from "../icons";
import { EraseEverything } from "./EraseEverything";
import { ImportData } from "./ImportData";
import { SettingsSection } from "./SettingsSection";

/** All that is the user's: taken out, taken in and erased. */
export function YourData({ settings }: { settings: ServerSettings }) {
  return (
    <SettingsSection title="Your data">
      <div className="flex flex-col gap-6">
        <Deed
          title="Export"
          text="Conversations with all branches, memories with their history, notes and preferences, as a file of JSON lines."
        >
          <a
            href="/api/me/export"
            download=""
            className="target inline-flex min-h-9 pointer-coarse:min-h-11 items-center gap-2 self-start rounded-control border border-line bg-surface px-3 py-1.5 font-medium text-sm hover:bg-sunken"
          >
            <DownloadIcon /> Export everything
          </a>
        </Deed>
        <Deed title="Import" text="Take in such a file, from here or from another server. Nothing is stored twice.">
          <ImportData settings={settings} />
        </Deed>
        <Deed title="Erase" text="Delete everything of yours at once and for good. You get a receipt.">
          <EraseEverything />
        </Deed>
      </div>
    </SettingsSection>
  );
}

function Deed({ title, text, children }: { title: string; text: string; children: ReactNode }) {
  return (
    <div className="flex flex-col gap-2">
      <div>
        <h3 className="font-medium text-sm">{title}</h3>
        <p className="text-sm text-soft">{text}</p>
      </div>
      {children}
    </div>
  );
}
