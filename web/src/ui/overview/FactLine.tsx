import type { ReactNode } from "react";

/** A fact in a list of them: what it is of, and what it is. */
export function FactLine({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex justify-between gap-4 border-line border-b py-1.5 last:border-b-0">
      <dt className="shrink-0 text-soft">{name}</dt>
      <dd className="text-right">{children}</dd>
    </div>
  );
}
