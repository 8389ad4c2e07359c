import type { Ref, TextareaHTMLAttributes } from "react";

export interface TextAreaProps extends Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, "onChange"> {
  /** Read aloud; a placeholder is no name. */
  label: string;
  onText: (text: string) => void;
  /** Ctrl+Enter or, on a Mac, ⌘Enter. */
  onSave?: () => void;
  onEscape?: () => void;
  ref?: Ref<HTMLTextAreaElement>;
}

/** A field for longer text, which grows with it. */
export function TextArea({ label, onText, onSave, onEscape, className = "", ...rest }: TextAreaProps) {
  return (
    <textarea
      aria-label={label}
      onChange={(event) => onText(event.target.value)}
      onKeyDown={(event) => {
        if (event.nativeEvent.isComposing) return;
        const isSave = event.key === "Enter" && (event.ctrlKey || event.metaKey);
        const act = isSave ? onSave : event.key === "Escape" ? onEscape : undefined;
        if (!act) return;
        event.preventDefault();
        act();
      }}
      className={`field-sizing-content max-h-[60dvh] min-h-20 w-full min-w-0 resize-y rounded-control border border-edge/60 bg-surface px-2.5 py-2 text-sm focus:border-accent focus:outline-1 focus:outline-accent pointer-coarse:text-base ${className}`}
      {...rest}
    />
  );
}
