import * as Radix from "@radix-ui/react-dialog";
import { type ReactNode, useEffect, useRef, useSyncExternalStore } from "react";
import { MemoryDetail } from "./MemoryDetail";
import { focusRow, useMemoryPlace } from "./useMemoryPlace";

/** From this width on list and memory stand side by side; the same as `lg` in the styles. */
const WIDE = "(min-width: 64rem)";

/** The memory that the address names: beside the list, or over it where there is no room. */
export function DetailPane() {
  const { memoryId, open } = useMemoryPlace();
  const isWide = useMedia(WIDE);
  if (!memoryId) return null;
  const close = () => {
    open(null);
    focusRow(memoryId);
  };
  const detail = <MemoryDetail id={memoryId} onClose={close} />;
  return isWide ? (
    <Beside id={memoryId} onClose={close}>
      {detail}
    </Beside>
  ) : (
    <Radix.Root open onOpenChange={(isOpen) => !isOpen && close()}>
      <Radix.Portal>
        <div className="fixed inset-0 z-30 bg-black/45" aria-hidden="true" />
        <Radix.Content
          aria-describedby={undefined}
          // Whoever leaves an edit stays with the memory.
          onEscapeKeyDown={(event) => isIn(event.target, "form") && event.preventDefault()}
          onCloseAutoFocus={(event) => event.preventDefault()}
          onPointerDownOutside={(event) => isIn(event.target, NOTICES) && event.preventDefault()}
          onFocusOutside={(event) => isIn(event.target, NOTICES) && event.preventDefault()}
          className="appears fixed inset-x-0 bottom-0 z-40 flex max-h-[92dvh] flex-col rounded-t-panel border-line border-t bg-surface shadow-raised outline-none md:inset-y-0 md:right-0 md:left-auto md:max-h-none md:w-[28rem] md:rounded-none md:border-t-0 md:border-l"
        >
          <Radix.Title className="sr-only">Memory</Radix.Title>
          {detail}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** A notice over the sheet belongs to what is done in it, such as undoing. */
const NOTICES = "[aria-label=Notices]";

const isIn = (target: EventTarget | null, place: string) => target instanceof Element && target.closest(place) !== null;

function Beside({ id, onClose, children }: { id: string; onClose: () => void; children: ReactNode }) {
  const pane = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another memory is another pane.
  useEffect(() => {
    // Whoever opened it from its row goes on in it.
    if (document.activeElement?.closest("[data-memory]")) pane.current?.focus({ preventScroll: true });
  }, [id]);
  return (
    <section
      ref={pane}
      tabIndex={-1}
      aria-label="Memory"
      className="flex w-[26rem] shrink-0 flex-col border-line border-l bg-surface outline-none xl:w-[30rem]"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.defaultPrevented) return;
        event.preventDefault();
        onClose();
      }}
    >
      {children}
    </section>
  );
}

function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const media = window.matchMedia(query);
      media.addEventListener("change", listener);
      return () => media.removeEventListener("change", listener);
    },
    () => window.matchMedia(query).matches,
  );
}
