import type { ReactNode } from "react";
import type { ServerSettings } from "../../api/types";
import { bytesInWords } from "../../state/overviewWords";
import { When } from "../parts/When";
import { SettingsSection } from "./SettingsSection";

const POLICIES: Record<ServerSettings["write_policy"], string> = {
  turn: "With the whole turn, once the reply has ended",
  ahead: "Before the model is asked",
  client: "When this browser archives them",
};
const STRATEGIES: Record<string, string> = {
  summarise: "By summaries",
  sliding: "By the newest messages alone",
  keep_all: "Not at all: every message is told",
};

/** What the server says of itself; whoever runs it decides these. */
export function ServerFacts({ settings }: { settings: ServerSettings }) {
  const { archive, history, memory, features, limits } = settings;
  return (
    <SettingsSection title="This server" text="Whoever runs it decides these.">
      <dl className="divide-y divide-line text-sm">
        <Fact name="Version">{settings.version}</Fact>
        <Fact name="Who answers">
          <Answering model={settings.model} />
        </Fact>
        <Fact name="Messages are stored">{POLICIES[settings.write_policy]}</Fact>
        <Fact name="This browser archives">
          every {archive.every_messages} messages or {archive.every_minutes} minutes, and when a page is left
        </Fact>
        <Fact name="Conversations are kept">
          {archive.retention_days === null ? "For ever" : `${archive.retention_days} days after the last message`}
        </Fact>
        <Fact name="Prompts are kept short">
          {STRATEGIES[history.strategy] ?? history.strategy}
          {history.strategy === "summarise" &&
            `, once ${history.threshold} messages are not covered; the newest ${history.keep_verbatim} stay word for word`}
        </Fact>
        {features.deletes_originals && <Fact name="Original messages">Deleted once a summary covers them</Fact>}
        <Fact name="Recalled for a question">
          {memory.enabled ? `Up to ${memory.context_limit} memories` : "Nothing: memory is off"}
        </Fact>
        <Fact name="Jobs are done">{features.jobs_inside ? "By this server" : "By workers of their own"}</Fact>
        <Fact name="Largest request">{bytesInWords(limits.body_bytes)}</Fact>
      </dl>
    </SettingsSection>
  );
}

function Answering({ model }: { model: ServerSettings["model"] }) {
  if (model.name === null) return "The built-in responder, from memory alone; no model is set up";
  if (model.circuit === "open" || model.circuit === "half_open") {
    return (
      <>
        {model.name}, which fails at the moment
        {model.retry_at && (
          <>
            {" "}
            and is asked again at <When at={model.retry_at} />
          </>
        )}
      </>
    );
  }
  return model.name;
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="grid gap-x-4 py-2 sm:grid-cols-[12rem_1fr]">
      <dt className="text-soft">{name}</dt>
      <dd className="[overflow-wrap:anywhere]">{children}</dd>
    </div>
  );
}
