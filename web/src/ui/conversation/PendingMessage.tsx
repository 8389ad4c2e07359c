import { useApp, useStoreOf } from "../../app/AppContext";
import { WarningIcon } from "../icons";
import { Button } from "../parts/Button";

/** What was said and is not known to be saved; if it could not be sent, it can be sent again or given up. */
export function PendingMessage({ text }: { text: string }) {
  const { conversation, outbox, drafts, layout } = useApp();
  const problem = useStoreOf(conversation.store, (state) => state.pending?.problem ?? null);
  const key = useStoreOf(conversation.store, (state) => state.pending?.key);
  const isHeld = useStoreOf(outbox.store, (state) => state.waiting.some((one) => one.key === key));

  const takeBack = async () => {
    const { id, isTemporary } = conversation.store.getState();
    drafts.set(id, text, isTemporary);
    await conversation.discard();
    layout.ask("composer");
  };

  return (
    <article aria-label="You" className="flex flex-col items-end pb-3">
      <div
        className={`max-w-[85%] whitespace-pre-wrap break-words rounded-panel rounded-br-sm bg-accent-soft px-3.5 py-2 ${problem ? "border border-danger border-dashed" : ""}`}
      >
        {text}
      </div>
      {problem ? (
        <div role="status" className="mt-2 flex flex-wrap items-center justify-end gap-2 text-sm">
          <span className="flex items-center gap-1.5 text-danger">
            <WarningIcon className="size-4" />
            Not sent: {problem.message}
          </span>
          {isHeld && <Button onClick={() => void conversation.retry()}>Try again</Button>}
          <Button onClick={() => void takeBack()}>Edit</Button>
          <Button look="quiet" onClick={() => void conversation.discard()}>
            Discard
          </Button>
        </div>
      ) : (
        <div className="min-h-8" />
      )}
    </article>
  );
}
