interface CheckboxProps {
  label: string;
  isChecked: boolean;
  /** Some of several. */
  isMixed?: boolean;
  onToggle: (isRange: boolean) => void;
}

/** A box to choose something with; with Shift it reaches from the last one to this. */
export function Checkbox({ label, isChecked, isMixed = false, onToggle }: CheckboxProps) {
  return (
    <label className="target inline-flex size-7 shrink-0 cursor-pointer items-center justify-center">
      <input
        type="checkbox"
        aria-label={label}
        checked={isChecked}
        ref={(box) => {
          if (box) box.indeterminate = isMixed;
        }}
        // A change does not say which keys were held, a click does.
        onChange={() => undefined}
        onClick={(event) => onToggle(event.shiftKey)}
        className="size-4 cursor-pointer accent-accent pointer-coarse:size-5"
      />
    </label>
  );
}
