import * as Radix from "@radix-ui/react-dialog";
import { type ReactNode, useRef } from "react";
import { CloseIcon } from "../icons";
import { IconButton } from "./IconButton";

interface DialogProps {
  isOpen: boolean;
  onOpenChange: (isOpen: boolean) => void;
  title: string;
  description?: string;
  children: ReactNode;
  isWide?: boolean;
}

/** A dialog in the middle; its backdrop is our own, since Radix's injects a style that our policy forbids. */
export function Dialog({ isOpen, onOpenChange, title, description, children, isWide = false }: DialogProps) {
  const openedFrom = useRef<Element | null>(null);
  return (
    <Radix.Root open={isOpen} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <div className="fixed inset-0 z-40 bg-black/45" aria-hidden="true" />
        <Radix.Content
          onOpenAutoFocus={() => {
            openedFrom.current = document.activeElement;
          }}
          onCloseAutoFocus={(event) => {
            // Radix gives the focus back to a trigger of its own alone, and we have none.
            event.preventDefault();
            if (openedFrom.current instanceof HTMLElement) openedFrom.current.focus();
          }}
          {...(!description && { "aria-describedby": undefined })}
          className={`appears -translate-x-1/2 -translate-y-1/2 fixed top-1/2 left-1/2 z-50 max-h-[85dvh] w-[calc(100vw-2rem)] overflow-y-auto rounded-panel border border-line bg-surface p-5 shadow-raised ${isWide ? "max-w-2xl" : "max-w-md"}`}
        >
          <div className="mb-3 flex items-start justify-between gap-4">
            <div>
              <Radix.Title className="font-semibold text-lg">{title}</Radix.Title>
              {description && <Radix.Description className="mt-1 text-sm text-soft">{description}</Radix.Description>}
            </div>
            <Radix.Close asChild>
              <IconButton label="Close" className="-mt-1 -mr-1.5">
                <CloseIcon />
              </IconButton>
            </Radix.Close>
          </div>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
