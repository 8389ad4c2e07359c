import * as Radix from "@radix-ui/react-dropdown-menu";
import { type ReactElement, type ReactNode, useEffect, useRef } from "react";

interface MenuSurfaceProps {
  trigger: ReactElement;
  /** Where it is put. */
  region: HTMLElement;
  /** Whether the key that opens it the first time was pressed before Radix could see it. */
  isByKeyboard: boolean;
  children: ReactNode;
}

/** A menu that opens at once; not modal, because locking the scrolling needs a style that our policy forbids. */
export default function MenuSurface({ trigger, region, isByKeyboard, children }: MenuSurfaceProps) {
  const surface = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The menu takes the focus itself first, one frame after it is there.
    const later = () => surface.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus();
    const frame = isByKeyboard ? requestAnimationFrame(later) : 0;
    return () => cancelAnimationFrame(frame);
  }, [isByKeyboard]);
  return (
    <Radix.Root modal={false} defaultOpen>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal container={region}>
        <Radix.Content
          ref={surface}
          align="end"
          sideOffset={4}
          collisionPadding={8}
          className="appears z-50 min-w-44 rounded-panel border border-line bg-surface p-1 shadow-raised"
        >
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

export interface MenuItemProps {
  icon?: ReactNode;
  isDangerous?: boolean;
  disabled?: boolean;
  onSelect: () => void;
  children: ReactNode;
}

export function MenuItem({ icon, isDangerous = false, disabled = false, onSelect, children }: MenuItemProps) {
  return (
    <Radix.Item
      disabled={disabled}
      onSelect={onSelect}
      className={`flex min-h-9 cursor-pointer items-center gap-2.5 rounded-control px-2.5 text-sm outline-none data-[disabled]:cursor-default data-[highlighted]:bg-sunken data-[disabled]:opacity-50 pointer-coarse:min-h-11 ${isDangerous ? "text-danger" : "text-ink"}`}
    >
      {icon}
      {children}
    </Radix.Item>
  );
}

export function MenuLine() {
  return <Radix.Separator className="my-1 h-px bg-line" />;
}
