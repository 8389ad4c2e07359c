import { useQuery } from "@tanstack/react-query";
import type { ServerSettings } from "../../api/types";
import { useApp, useStoreOf } from "../../app/AppContext";
import { SETTINGS_KEY } from "../../app/compose";
import { BrainIcon, GhostIcon } from "../icons";
import { EmptyState } from "../parts/EmptyState";

/** Say in two lines what happens with what is said. */
export function EmptyConversation() {
  const { conversation, client } = useApp();
  const isTemporary = useStoreOf(conversation.store, (state) => state.isTemporary);
  const { data } = useQuery({ queryKey: SETTINGS_KEY, queryFn: () => client.get<ServerSettings>("/api/settings") });
  const isRemembering = data ? data.features.memory && data.user.memory_enabled : true;
  return (
    <div className="flex min-h-0 flex-1 flex-col justify-center overflow-y-auto">
      {isTemporary ? (
        <EmptyState icon={<GhostIcon className="size-6" />} title="A temporary conversation">
          Nothing said here is kept, and nothing known about you is used.
          <br />
          It is gone when you leave it.
        </EmptyState>
      ) : (
        <EmptyState icon={<BrainIcon className="size-6" />} title="What is on your mind?">
          {isRemembering
            ? "What matters is remembered, and used when it helps."
            : "Memory is off: nothing is learned or recalled."}
          <br />
          {isRemembering ? "You see what was used, and can change or forget it." : "The conversation itself is kept."}
        </EmptyState>
      )}
    </div>
  );
}
