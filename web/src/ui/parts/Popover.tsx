import * as Radix from "@radix-ui/react-popover";
import type { ReactElement, ReactNode } from "react";

interface PopoverProps {
  trigger: ReactElement;
  label: string;
  children: ReactNode;
  isOpen: boolean;
  onOpenChange: (isOpen: boolean) => void;
}

export function Popover({ trigger, label, children, isOpen, onOpenChange }: PopoverProps) {
  return (
    <Radix.Root open={isOpen} onOpenChange={onOpenChange}>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          aria-label={label}
          align="start"
          sideOffset={6}
          collisionPadding={12}
          className="appears z-50 w-80 max-w-[calc(100vw-1.5rem)] rounded-panel border border-line bg-surface p-3.5 shadow-raised"
        >
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
