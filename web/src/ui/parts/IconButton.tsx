import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";

export interface IconButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  /** What it does; read aloud, and shown when it is pointed at. */
  label: string;
  /** Shown after the label, such as a key. */
  hint?: string;
  children: ReactNode;
  isSmall?: boolean;
  ref?: Ref<HTMLButtonElement>;
}

export function IconButton({ label, hint, isSmall = false, className = "", children, ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      data-tip={hint ? `${label} (${hint})` : label}
      className={`target inline-flex items-center justify-center rounded-control text-soft transition-colors hover:bg-sunken hover:text-ink disabled:cursor-default disabled:opacity-40 data-[state=open]:bg-sunken data-[state=open]:text-ink ${isSmall ? "size-7" : "size-9"} ${className}`}
      {...rest}
    >
      {children}
    </button>
  );
}
