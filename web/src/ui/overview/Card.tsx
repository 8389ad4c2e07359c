import { type ReactNode, useId } from "react";

interface CardProps {
  title: string;
  /** Beside the title. */
  tools?: ReactNode;
  className?: string;
  children: ReactNode;
}

/** A part of the overview. */
export function Card({ title, tools, className = "", children }: CardProps) {
  const id = useId();
  return (
    <section aria-labelledby={id} className={`min-w-0 rounded-panel border border-line bg-surface p-4 ${className}`}>
      <div className="mb-3 flex flex-wrap items-center justify-between gap-2">
        <h2 id={id} className="font-semibold">
          {title}
        </h2>
        {tools}
      </div>
      {children}
    </section>
  );
}
