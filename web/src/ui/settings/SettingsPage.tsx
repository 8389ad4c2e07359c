import { useQuery } from "@tanstack/react-query";
import type { ServerSettings } from "../../api/types";
import { useApp } from "../../app/AppContext";
import { SETTINGS_KEY } from "../../app/compose";
import { Button } from "../parts/Button";
import { ProblemBar } from "../parts/ProblemBar";
import { Skeleton } from "../parts/Skeleton";
import { PageFrame } from "../shell/PageFrame";
import { Appearance } from "./Appearance";
import { PreferenceFields } from "./PreferenceFields";
import { ServerFacts } from "./ServerFacts";
import { SignedIn } from "./SignedIn";
import { YourData } from "./YourData";

/** What can be set, what the server tells of itself, and all the data: taken out, taken in, erased. */
export default function SettingsPage() {
  const { client } = useApp();
  const settings = useQuery({ queryKey: SETTINGS_KEY, queryFn: () => client.get<ServerSettings>("/api/settings") });
  return (
    <PageFrame title="Settings">
      <Appearance />
      {settings.data ? (
        <>
          <PreferenceFields settings={settings.data} />
          <YourData settings={settings.data} />
          <ServerFacts settings={settings.data} />
          {settings.data.auth === "token" && <SignedIn />}
        </>
      ) : settings.error ? (
        <div className="py-6">
          <ProblemBar actions={<Button onClick={() => void settings.refetch()}>Try again</Button>}>
            The other settings cannot be read: {settings.error.message}
          </ProblemBar>
        </div>
      ) : (
        <Skeleton className="mt-6 h-40" />
      )}
    </PageFrame>
  );
}
