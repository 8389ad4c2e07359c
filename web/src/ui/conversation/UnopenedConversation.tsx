import { useApp, useStoreOf } from "../../app/AppContext";
import { WarningIcon } from "../icons";
import { Button } from "../parts/Button";
import { EmptyState } from "../parts/EmptyState";

/** What stands in the place of a conversation that could not be read. */
export function UnopenedConversation() {
  const { conversation, router } = useApp();
  const problem = useStoreOf(conversation.store, (state) => state.problem);
  const isMissing = problem?.status === 404;

  const open = () => {
    const route = router.store.getState().route;
    if (route.page === "conversation") void conversation.open(route.id);
    else router.go({ page: "start" });
  };

  return (
    <div role="alert" className="flex min-h-0 flex-1 flex-col justify-center overflow-y-auto">
      <EmptyState
        icon={<WarningIcon className="size-6" />}
        title={isMissing ? "There is no such conversation" : "The conversation could not be read"}
      >
        <p>{isMissing ? "It may have been deleted." : problem?.message}</p>
        <div className="mt-4 flex justify-center gap-2">
          {!isMissing && (
            <Button look="solid" onClick={open}>
              Try again
            </Button>
          )}
          <Button onClick={() => router.go({ page: "new" })}>New conversation</Button>
        </div>
      </EmptyState>
    </div>
  );
}
