import { type Ref, useImperativeHandle, useLayoutEffect, useRef } from "react";

interface GrowingTextProps {
  label: string;
  text: string;
  onText: (text: string) => void;
  onEnter: () => void;
  onEscape?: () => void;
  placeholder?: string;
  ref?: Ref<HTMLTextAreaElement>;
}

/** A field that grows with its text; Enter is done, Shift+Enter breaks the line. */
export function GrowingText({ label, text, onText, onEnter, onEscape, placeholder, ref }: GrowingTextProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  useImperativeHandle(ref, () => field.current as HTMLTextAreaElement, []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the height follows the text.
  useLayoutEffect(() => {
    const element = field.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight}px`;
  }, [text]);

  return (
    <textarea
      ref={field}
      rows={1}
      aria-label={label}
      placeholder={placeholder}
      value={text}
      onChange={(event) => onText(event.target.value)}
      onKeyDown={(event) => {
        if (event.nativeEvent.isComposing) return;
        if (event.key === "Enter" && !event.shiftKey) {
          event.preventDefault();
          onEnter();
        } else if (event.key === "Escape" && onEscape) {
          event.preventDefault();
          onEscape();
        }
      }}
      className="max-h-[40dvh] min-h-9 w-full min-w-0 resize-none bg-transparent px-2 py-1.5 outline-none pointer-coarse:min-h-11 pointer-coarse:py-2.5 pointer-coarse:text-base"
    />
  );
}
