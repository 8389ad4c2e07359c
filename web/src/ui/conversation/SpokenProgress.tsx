import { useEffect, useRef, useState } from "react";
import { useApp, useStoreOf } from "../../app/AppContext";

const LONGEST = 600;

/** Tell those who do not see the page that a reply is being written, and read it once it is there: not word by word; and where they were taken. */
export function SpokenProgress() {
  const { conversation } = useApp();
  const isWriting = useStoreOf(conversation.store, (state) => state.draft !== null);
  const wasWriting = useRef(false);
  const [said, setSaid] = useState("");

  useEffect(() => {
    if (isWriting) setSaid("A reply is being written.");
    else if (wasWriting.current) {
      const { messages, pending } = conversation.store.getState();
      const reply = messages.at(-1);
      if (pending?.problem) setSaid(`Not sent. ${pending.problem.message}`);
      else if (reply?.role === "assistant") setSaid(`Reply: ${reply.content.slice(0, LONGEST)}`);
    }
    wasWriting.current = isWriting;
  }, [isWriting, conversation]);

  const target = useStoreOf(conversation.store, (state) => state.target);
  useEffect(() => {
    const gone = conversation.store.getState().messages.find((one) => one.id === target?.messageId);
    if (!gone || target?.isQuiet) return;
    const on = new Date(gone.created_at).toLocaleDateString(undefined, { dateStyle: "long" });
    setSaid(`Message of ${on}.${target?.quote ? ` Marked: ${target.quote}` : ""}`);
  }, [target, conversation]);

  return (
    <div aria-live="polite" className="sr-only">
      {said}
    </div>
  );
}
