import { type ReactNode, useId } from "react";

interface SettingsSectionProps {
  title: string;
  text?: ReactNode;
  children: ReactNode;
}

/** A group of settings with a heading of its own. */
export function SettingsSection({ title, text, children }: SettingsSectionProps) {
  const id = useId();
  return (
    <section aria-labelledby={id} className="border-line border-b py-6 first:pt-0 last:border-b-0">
      <h2 id={id} className="font-semibold">
        {title}
      </h2>
      {text && <p className="mt-0.5 text-sm text-soft">{text}</p>}
      <div className="mt-3">{children}</div>
    </section>
  );
}
