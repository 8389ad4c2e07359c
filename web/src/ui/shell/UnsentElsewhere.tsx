import { useApp, useStoreOf } from "../../app/AppContext";
import { addressOf } from "../../state/route";
import { WarningIcon } from "../icons";

/** Lead to what could not be sent in another conversation; opening it sends it. */
export function UnsentElsewhere() {
  const { outbox, conversation } = useApp();
  const here = useStoreOf(conversation.store, (state) => state.id);
  const waiting = useStoreOf(outbox.store, (state) => state.waiting);
  const inOtherTabs = useStoreOf(outbox.store, (state) => state.elsewhere);
  const unsent = waiting.find((one) => one.conversationId !== here && !inOtherTabs.has(one.key));
  if (!unsent) return null;
  return (
    <a
      href={addressOf({ page: "conversation", id: unsent.conversationId })}
      className="mx-3 mb-2 flex items-center gap-2 rounded-control bg-warning-soft px-3 py-2 text-sm hover:underline"
    >
      <WarningIcon className="size-4" />A message was not sent yet
    </a>
  );
}
