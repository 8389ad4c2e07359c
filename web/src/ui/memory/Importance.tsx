import { useId } from "react";
import { importanceWord } from "../../state/memoryWords";

/** How much it matters, in five dots. */
export function Importance({ value }: { value: number }) {
  const full = Math.max(1, Math.round(value * 5));
  return (
    <span className="inline-flex items-center gap-1.5">
      <svg viewBox="0 0 44 8" className="h-2 w-11" aria-hidden="true">
        {[0, 1, 2, 3, 4].map((at) => (
          <circle key={at} cx={4 + at * 9} cy="4" r="3" className={at < full ? "fill-accent" : "fill-line"} />
        ))}
      </svg>
      {importanceWord(value)}
    </span>
  );
}

/** Choose how much it matters. */
export function ImportanceField({ value, onChange }: { value: number; onChange: (value: number) => void }) {
  const id = useId();
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <label htmlFor={id} className="flex justify-between text-soft text-xs">
        Importance <output htmlFor={id}>{importanceWord(value)}</output>
      </label>
      <input
        id={id}
        type="range"
        min="0"
        max="100"
        step="5"
        value={Math.round(value * 100)}
        aria-valuetext={`${importanceWord(value)}, ${Math.round(value * 100)} %`}
        onChange={(event) => onChange(Number(event.target.value) / 100)}
        className="h-9 w-full accent-accent pointer-coarse:h-11"
      />
    </div>
  );
}
