import { useEffect, useRef, useState } from "react";

interface TitleFieldProps {
  title: string;
  /** Given the new title, or null if it stays. */
  onDone: (changed: string | null) => void;
  className?: string;
}

const LONGEST = 255;

/** Edit a title in its place: Enter and leaving keep it, Escape does not. */
export function TitleField({ title, onDone, className = "" }: TitleFieldProps) {
  const [text, setText] = useState(title);
  const field = useRef<HTMLInputElement>(null);
  const isDone = useRef(false);
  /** What the field stands in; when it is done, the link or button that it stands for is there again. */
  const around = useRef<HTMLElement | null>(null);

  useEffect(() => {
    around.current = field.current?.parentElement ?? null;
    // A menu that closes takes the focus back first.
    const timer = setTimeout(() => field.current?.select(), 0);
    return () => clearTimeout(timer);
  }, []);

  const finish = (isKept: boolean) => {
    if (isDone.current) return;
    isDone.current = true;
    const changed = text.trim();
    onDone(isKept && changed && changed !== title ? changed : null);
  };

  return (
    <input
      ref={field}
      aria-label="Title"
      value={text}
      maxLength={LONGEST}
      onChange={(event) => setText(event.target.value)}
      onBlur={() => finish(true)}
      onKeyDown={(event) => {
        if (event.nativeEvent.isComposing) return;
        if (event.key !== "Enter" && event.key !== "Escape") return;
        event.preventDefault();
        finish(event.key === "Enter");
        setTimeout(() => around.current?.querySelector<HTMLElement>("a,button")?.focus(), 0);
      }}
      className={`w-full min-w-0 rounded-control border border-accent bg-surface px-2 py-1.5 text-sm pointer-coarse:min-h-11 pointer-coarse:text-base ${className}`}
    />
  );
}
