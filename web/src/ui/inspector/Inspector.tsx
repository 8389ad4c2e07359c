import * as Radix from "@radix-ui/react-dialog";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { useApp } from "../../app/AppContext";
import type { Inspected } from "../../state/inspector";
import { CloseIcon } from "../icons";
import { IconButton } from "../parts/IconButton";
import { InspectedPrompt } from "./InspectedPrompt";
import "./inspector.css";

/** From this width on there is room beside the conversation. */
const WIDE = "(min-width: 64rem)";

/** What the model saw: beside the conversation where there is room, else over it. */
export default function Inspector({ inspected }: { inspected: Inspected }) {
  const isWide = useMatch(WIDE);
  const title = inspected.kind === "preview" ? "What the model would see" : "What the model saw";
  const prompt = <InspectedPrompt inspected={inspected} />;
  return isWide ? (
    <SidePanel title={title} inspected={inspected}>
      {prompt}
    </SidePanel>
  ) : (
    <Sheet title={title}>{prompt}</Sheet>
  );
}

interface PanelProps {
  title: string;
  children: ReactNode;
}

function SidePanel({ title, inspected, children }: PanelProps & { inspected: Inspected }) {
  const { inspector } = useApp();
  const panel = useRef<HTMLElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const opener = useRef<Element | null>(null);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another prompt is another reason to come here.
  useEffect(() => {
    if (!panel.current?.contains(document.activeElement)) opener.current = document.activeElement;
    heading.current?.focus();
  }, [inspected]);

  const close = () => {
    inspector.close();
    if (opener.current instanceof HTMLElement && opener.current.isConnected) opener.current.focus();
  };

  return (
    <section
      ref={panel}
      aria-label={title}
      className="appears flex w-96 shrink-0 flex-col border-line border-l bg-page xl:w-[26rem]"
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        close();
      }}
    >
      <header className="flex min-h-14 items-center justify-between gap-2 border-line border-b py-1 pr-2 pl-4">
        <h2 ref={heading} tabIndex={-1} className="font-semibold outline-none">
          {title}
        </h2>
        <IconButton label="Close" hint="Esc" onClick={close}>
          <CloseIcon />
        </IconButton>
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto p-4">{children}</div>
    </section>
  );
}

function Sheet({ title, children }: PanelProps) {
  const { inspector } = useApp();
  return (
    <Radix.Root open onOpenChange={(isOpen) => !isOpen && inspector.close()}>
      <Radix.Portal>
        <div className="fixed inset-0 z-30 bg-black/45" aria-hidden="true" />
        <Radix.Content
          aria-describedby={undefined}
          className="appears fixed inset-x-0 bottom-0 z-40 mx-auto flex max-h-[88dvh] w-full max-w-2xl flex-col rounded-t-2xl border border-line bg-page shadow-raised outline-none"
        >
          <header className="flex items-center justify-between gap-2 border-line border-b py-1.5 pr-2 pl-4">
            <Radix.Title className="font-semibold">{title}</Radix.Title>
            <Radix.Close asChild>
              <IconButton label="Close">
                <CloseIcon />
              </IconButton>
            </Radix.Close>
          </header>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
          <div tabIndex={0} className="min-h-0 flex-1 overflow-y-auto p-4 pb-[max(1rem,env(safe-area-inset-bottom))]">
            {children}
          </div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

function useMatch(query: string): boolean {
  const [isMatch, setMatch] = useState(() => window.matchMedia(query).matches);
  useEffect(() => {
    const media = window.matchMedia(query);
    const update = () => setMatch(media.matches);
    media.addEventListener("change", update);
    return () => media.removeEventListener("change", update);
  }, [query]);
  return isMatch;
}
