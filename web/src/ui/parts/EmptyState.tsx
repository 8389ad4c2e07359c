import type { ReactNode } from "react";

interface EmptyStateProps {
  icon?: ReactNode;
  title: string;
  children?: ReactNode;
}

/** Say why there is nothing, and what can be done. */
export function EmptyState({ icon, title, children }: EmptyStateProps) {
  return (
    <div className="appears mx-auto flex max-w-lg flex-col items-center gap-3 px-6 py-10 text-center">
      {icon && <div className="rounded-full bg-accent-soft p-3.5 text-accent">{icon}</div>}
      <h2 className="font-semibold text-lg">{title}</h2>
      <div className="text-soft">{children}</div>
    </div>
  );
}
