import { type ReactNode, useEffect } from "react";
import { useApp } from "../../app/AppContext";
import { MenuIcon } from "../icons";
import { IconButton } from "../parts/IconButton";

/** A page beside the conversation: its title and what is on it. */
export function PageFrame({ title, children }: { title: string; children: ReactNode }) {
  const { layout } = useApp();
  useEffect(() => {
    document.title = `${title} · Recollect`;
  }, [title]);
  return (
    <>
      <header className="flex min-h-14 items-center gap-1.5 border-line border-b px-3 md:px-6">
        <IconButton label="Conversations" className="md:!hidden" onClick={() => layout.setDrawer(true)}>
          <MenuIcon />
        </IconButton>
        <h1 className="font-semibold">{title}</h1>
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto w-full max-w-3xl px-4 py-6">{children}</div>
      </div>
    </>
  );
}
