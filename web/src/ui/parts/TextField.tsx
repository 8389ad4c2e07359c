import type { InputHTMLAttributes, ReactNode, Ref } from "react";

export interface TextFieldProps extends InputHTMLAttributes<HTMLInputElement> {
  /** Read aloud; a placeholder is no name. */
  label: string;
  icon?: ReactNode;
  /** Controls at the end of the field. */
  end?: ReactNode;
  ref?: Ref<HTMLInputElement>;
}

export function TextField({ label, icon, end, className = "", ...rest }: TextFieldProps) {
  return (
    <div
      className={`flex min-h-9 items-center gap-2 rounded-control border border-edge/60 bg-surface px-2.5 text-soft focus-within:border-accent focus-within:outline-1 focus-within:outline-accent ${className}`}
    >
      {icon}
      <input
        aria-label={label}
        className="min-h-9 w-full min-w-0 bg-transparent text-ink text-sm outline-none pointer-coarse:min-h-11 pointer-coarse:text-base"
        {...rest}
      />
      {end}
    </div>
  );
}
