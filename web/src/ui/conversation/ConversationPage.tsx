import { useApp, useStoreOf } from "../../app/AppContext";
import { InspectorSlot } from "../inspector/InspectorSlot";
import { Composer } from "./Composer";
import { ConversationHeader } from "./ConversationHeader";
import { ConversationProblems } from "./ConversationProblems";
import { EmptyConversation } from "./EmptyConversation";
import { LoadingMessages } from "./LoadingMessages";
import { MessageList } from "./MessageList";
import { SpokenProgress } from "./SpokenProgress";
import { UnopenedConversation } from "./UnopenedConversation";

/** The visible conversation. */
export function ConversationPage() {
  const { conversation } = useApp();
  const id = useStoreOf(conversation.store, (state) => state.id);
  const isTemporary = useStoreOf(conversation.store, (state) => state.isTemporary);
  const view = useStoreOf(conversation.store, (state) => {
    if (state.messages.length || state.pending || state.draft) return "messages";
    if (state.isLoading) return "loading";
    return state.problem ? "problem" : "empty";
  });
  return (
    <div className="flex min-h-0 flex-1">
      <div className={`flex min-h-0 min-w-0 flex-1 flex-col ${isTemporary ? "bg-sunken" : ""}`}>
        <ConversationHeader />
        {view === "messages" && <MessageList key={id} />}
        {view === "loading" && <LoadingMessages />}
        {view === "empty" && <EmptyConversation />}
        {view === "problem" && <UnopenedConversation />}
        <div className="mx-auto flex w-full max-w-3xl flex-col gap-2 px-4 pb-[max(0.75rem,env(safe-area-inset-bottom))]">
          <ConversationProblems />
          {view !== "problem" && <Composer key={id} />}
        </div>
        <SpokenProgress />
      </div>
      <InspectorSlot conversationId={id} />
    </div>
  );
}
