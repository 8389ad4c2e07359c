import type { ButtonHTMLAttributes, Ref } from "react";

export interface ChipProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: "plain" | "accent";
  ref?: Ref<HTMLButtonElement>;
}

export function Chip({ look = "plain", className = "", ...rest }: ChipProps) {
  const colours =
    look === "accent"
      ? "border-accent/40 text-accent hover:bg-accent-soft"
      : "border-line text-soft hover:border-edge hover:text-ink data-[state=open]:border-edge data-[state=open]:text-ink";
  return (
    <button
      type="button"
      className={`inline-flex min-h-7 max-w-full items-center gap-1.5 rounded-full border bg-surface px-2.5 text-left text-xs transition-colors disabled:opacity-50 pointer-coarse:min-h-11 pointer-coarse:px-3.5 ${colours} ${className}`}
      {...rest}
    />
  );
}
