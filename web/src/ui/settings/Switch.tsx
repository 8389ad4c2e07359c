import { type ReactNode, useId } from "react";

interface SwitchProps {
  label: string;
  isOn: boolean;
  disabled?: boolean;
  onTurn: (isOn: boolean) => void;
  /** What it means. */
  children?: ReactNode;
}

/** Something that is on or off; it is as it is shown. */
export function Switch({ label, isOn, disabled = false, onTurn, children }: SwitchProps) {
  const id = useId();
  return (
    <div className="flex items-start justify-between gap-6">
      <div className="min-w-0">
        <span id={id} className="font-medium text-sm">
          {label}
        </span>
        {children && (
          <p id={`${id}-text`} className="text-sm text-soft">
            {children}
          </p>
        )}
      </div>
      <button
        type="button"
        role="switch"
        aria-checked={isOn}
        aria-labelledby={id}
        aria-describedby={children ? `${id}-text` : undefined}
        disabled={disabled}
        onClick={() => onTurn(!isOn)}
        className="target inline-flex shrink-0 items-center justify-center rounded-full disabled:opacity-50"
      >
        <span
          aria-hidden="true"
          className={`flex h-6 w-11 items-center rounded-full border px-0.5 transition-colors ${isOn ? "border-accent bg-accent" : "border-edge bg-sunken"}`}
        >
          <span
            className={`size-4.5 rounded-full transition-transform ${isOn ? "translate-x-4.5 bg-on-accent" : "bg-edge"}`}
          />
        </span>
      </button>
    </div>
  );
}
