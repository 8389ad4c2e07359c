import { useEffect, useRef, useState } from "react";
import { Button } from "../parts/Button";
import { GrowingText } from "./GrowingText";

interface EditMessageProps {
  text: string;
  /** Given the new text, or null if it stays. */
  onDone: (changed: string | null) => void;
}

/** Say something else in the place of a message; what was said stays on its own branch. */
export function EditMessage({ text: before, onDone }: EditMessageProps) {
  const [text, setText] = useState(before);
  const field = useRef<HTMLTextAreaElement>(null);
  const isUsable = text.trim() !== "" && text.trim() !== before.trim();

  useEffect(() => {
    field.current?.focus();
    field.current?.setSelectionRange(before.length, before.length);
  }, [before]);

  return (
    <div className="mb-4 ml-auto flex w-full max-w-[85%] flex-col gap-2 rounded-panel border border-accent bg-surface p-2">
      <GrowingText
        ref={field}
        label="Edit the message"
        text={text}
        onText={setText}
        onEnter={() => isUsable && onDone(text)}
        onEscape={() => onDone(null)}
      />
      <div className="flex items-center justify-end gap-2">
        <Button look="quiet" onClick={() => onDone(null)}>
          Cancel
        </Button>
        <Button look="solid" disabled={!isUsable} onClick={() => onDone(text)}>
          Send
        </Button>
      </div>
    </div>
  );
}
