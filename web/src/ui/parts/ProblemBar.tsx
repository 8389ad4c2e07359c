import type { ReactNode } from "react";
import { WarningIcon } from "../icons";

/** A problem that stays until it is solved, told calmly, with what can be done. */
export function ProblemBar({ children, actions }: { children: ReactNode; actions?: ReactNode }) {
  return (
    <div
      role="status"
      className="appears flex flex-wrap items-center gap-x-3 gap-y-2 rounded-panel border border-line bg-warning-soft px-3.5 py-2 text-sm"
    >
      <WarningIcon />
      <span className="min-w-0 flex-1 basis-48">{children}</span>
      {actions && <span className="flex gap-2">{actions}</span>}
    </div>
  );
}
