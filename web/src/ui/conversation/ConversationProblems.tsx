import { useApp, useStoreOf } from "../../app/AppContext";
import { Button } from "../parts/Button";
import { ProblemBar } from "../parts/ProblemBar";

/** What does not work at the moment, and what can be done about it. */
export function ConversationProblems() {
  const { conversation, archive, outbox } = useApp();
  const problem = useStoreOf(conversation.store, (state) => state.problem);
  const pending = useStoreOf(conversation.store, (state) => state.pending);
  const isUnopened = useStoreOf(conversation.store, (state) => state.conversation === null && !state.messages.length);
  const archiveFailure = useStoreOf(archive.store, (state) => state.failure);
  const isKept = useStoreOf(outbox.store, (state) => state.isKept);
  const hasUnsent = useStoreOf(outbox.store, (state) => state.waiting.length > 0);

  return (
    <>
      {problem && !pending && !isUnopened && (
        <ProblemBar
          actions={
            <Button look="quiet" onClick={() => void conversation.discard()}>
              Dismiss
            </Button>
          }
        >
          {problem.message}
        </ProblemBar>
      )}
      {archiveFailure && (
        <ProblemBar actions={<Button onClick={() => void archive.flush()}>Try now</Button>}>
          Not archived yet: {archiveFailure} It is kept in this browser and tried again.
        </ProblemBar>
      )}
      {!isKept && hasUnsent && (
        <ProblemBar>This browser keeps nothing: what is not sent yet is lost if you close the page.</ProblemBar>
      )}
    </>
  );
}
