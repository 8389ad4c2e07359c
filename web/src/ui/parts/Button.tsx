import type { ButtonHTMLAttributes, Ref } from "react";

type Look = "solid" | "plain" | "quiet" | "danger";

const LOOKS: Record<Look, string> = {
  solid: "bg-accent text-on-accent hover:bg-accent-strong",
  plain: "border border-line bg-surface text-ink hover:bg-sunken",
  quiet: "text-soft hover:bg-sunken hover:text-ink",
  danger: "border border-danger text-danger hover:bg-danger-soft",
};

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: Look;
  ref?: Ref<HTMLButtonElement>;
}

export function Button({ look = "plain", className = "", type = "button", ...rest }: ButtonProps) {
  return (
    <button
      type={type}
      className={`target inline-flex min-h-9 pointer-coarse:min-h-11 items-center justify-center gap-2 rounded-control px-3 py-1.5 font-medium text-sm transition-colors disabled:cursor-default disabled:opacity-50 ${LOOKS[look]} ${className}`}
      {...rest}
    />
  );
}
