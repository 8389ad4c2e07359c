import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { asProblem } from "../../api/problem";
import type { Caller } from "../../api/types";
import { useApp } from "../../app/AppContext";
import { createLeaving } from "../../state/leaving";
import { Button } from "../parts/Button";
import Confirm from "../parts/Confirm";
import { SettingsSection } from "./SettingsSection";

/** Who is signed in, and signing out; only where the server asks who calls. */
export function SignedIn() {
  const { archive, client, notices, outbox } = useApp();
  const caller = useQuery({ queryKey: ["caller"], queryFn: () => client.get<Caller>("/api/session") });
  const [isAsking, setAsking] = useState(false);
  const [leaving] = useState(() => createLeaving(() => window.localStorage, outbox));

  const signOut = async () => {
    try {
      await archive.flush();
      await client.delete("/api/session");
      await leaving.clear();
      window.location.hash = "#/";
      window.location.reload();
    } catch (error) {
      notices.tell(`You are still signed in: ${asProblem(error).message}`, { kind: "problem" });
    }
  };

  return (
    <SettingsSection title="Session">
      <div className="flex flex-wrap items-center justify-between gap-3 text-sm">
        <p>
          Signed in as <strong>{caller.data?.user ?? "…"}</strong>
          {caller.data && caller.data.tenant !== "default" && ` of ${caller.data.tenant}`}
        </p>
        <Button onClick={() => (leaving.count() > 0 ? setAsking(true) : void signOut())}>Sign out</Button>
      </div>
      {isAsking && (
        <Confirm
          isOpen
          title="Sign out?"
          text={`Texts that are not sent or saved are only in this browser (${leaving.count()}). Signing out deletes them here.`}
          action="Delete them and sign out"
          onAnswer={(isConfirmed) => {
            setAsking(false);
            if (isConfirmed) void signOut();
          }}
        />
      )}
    </SettingsSection>
  );
}
