import { useEffect, useRef, useState } from "react";
import { useApp, useStoreOf } from "../../app/AppContext";
import { SendIcon, StopIcon } from "../icons";
import { InspectButton } from "../inspector/InspectButton";
import { GrowingText } from "./GrowingText";

/** Where messages are written; what is not sent stays here, per conversation. */
export function Composer() {
  const { conversation, drafts, layout, router } = useApp();
  const id = useStoreOf(conversation.store, (state) => state.id);
  const isTemporary = useStoreOf(conversation.store, (state) => state.isTemporary);
  const isWriting = useStoreOf(conversation.store, (state) => state.draft !== null);
  const isUnsent = useStoreOf(conversation.store, (state) => state.pending?.problem != null);
  const isWanted = useStoreOf(layout.store, (state) => state.wanted === "composer");
  const isStored = useStoreOf(conversation.store, (state) => state.conversation !== null);
  const [text, setText] = useState(() => drafts.get(id));
  const field = useRef<HTMLTextAreaElement>(null);

  const write = (written: string) => {
    setText(written);
    drafts.set(id, written, isTemporary);
  };

  useEffect(() => {
    // Whoever was sent to a message reads it first; and a phone would cover half of the page with its keyboard.
    if (conversation.store.getState().target?.messageId) return;
    if (window.matchMedia("(pointer: fine)").matches) field.current?.focus();
  }, [conversation]);

  useEffect(() => {
    if (!isWanted) return;
    setText(drafts.get(id));
    field.current?.focus();
    layout.served();
  }, [isWanted, id, drafts, layout]);

  const canSend = text.trim() !== "" && !isWriting && !isUnsent;
  const send = () => {
    if (!canSend) return;
    write("");
    // The address is the conversation's from its first message on, so that a reload finds it.
    if (!isTemporary) router.replace({ page: "conversation", id });
    void conversation.send(text);
  };

  const look = isTemporary ? "border-dashed border-edge" : "border-edge/60";
  return (
    <form
      className={`flex items-end gap-1.5 rounded-2xl border bg-surface p-1.5 pl-2 shadow-soft focus-within:border-accent focus-within:outline-1 focus-within:outline-accent ${look}`}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <GrowingText
        ref={field}
        label="Message"
        placeholder={isTemporary ? "Say something that is not kept" : "Say something"}
        text={text}
        onText={write}
        onEnter={send}
      />
      {(isStored || isTemporary) && (
        <InspectButton
          label="What the model would see"
          className="shrink-0 !rounded-full"
          inspected={() => ({ kind: "preview", conversationId: id, text: text.trim() })}
        />
      )}
      {isWriting ? (
        <RoundButton label="Stop" onClick={() => void conversation.stop()}>
          <StopIcon className="size-5" />
        </RoundButton>
      ) : (
        <RoundButton label="Send" isSubmit disabled={!canSend}>
          <SendIcon className="size-5" />
        </RoundButton>
      )}
    </form>
  );
}

interface RoundButtonProps {
  label: string;
  isSubmit?: boolean;
  disabled?: boolean;
  onClick?: () => void;
  children: React.ReactNode;
}

function RoundButton({ label, isSubmit = false, disabled = false, onClick, children }: RoundButtonProps) {
  return (
    <button
      type={isSubmit ? "submit" : "button"}
      aria-label={label}
      data-tip={label}
      disabled={disabled}
      onClick={onClick}
      className="target inline-flex size-9 shrink-0 items-center justify-center rounded-full bg-accent text-on-accent transition-colors hover:bg-accent-strong disabled:cursor-default disabled:bg-line disabled:text-soft"
    >
      {children}
    </button>
  );
}
