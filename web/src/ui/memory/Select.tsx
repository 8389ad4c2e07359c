import { useId } from "react";

interface SelectProps<T extends string> {
  label: string;
  value: T;
  options: readonly (readonly [T, string])[];
  onChange: (value: T) => void;
  /** The label is read aloud only. */
  isBare?: boolean;
  className?: string;
}

/** One of a few; the browser's own list, which every device draws as its people know it. */
export function Select<T extends string>(props: SelectProps<T>) {
  const { label, value, options, onChange, isBare = false, className = "" } = props;
  const id = useId();
  return (
    <div className={`flex min-w-0 flex-col gap-1 ${className}`}>
      <label htmlFor={id} className={isBare ? "sr-only" : "text-soft text-xs"}>
        {label}
      </label>
      <select
        id={id}
        value={value}
        onChange={(event) => onChange(event.target.value as T)}
        className="min-h-9 w-full min-w-0 rounded-control border border-edge/60 bg-surface px-2 text-ink text-sm pointer-coarse:min-h-11 pointer-coarse:text-base"
      >
        {options.map(([one, name]) => (
          <option key={one} value={one}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}
