import * as Radix from "@radix-ui/react-tooltip";
import type { ReactElement } from "react";

/** Name a control when it is pointed at or focused; what is said here is also the label of the control itself. */
export function Tooltip({ text, children }: { text: string; children: ReactElement }) {
  return (
    <Radix.Root>
      <Radix.Trigger asChild>{children}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          sideOffset={6}
          collisionPadding={8}
          className="appears z-50 rounded-md bg-ink px-2 py-1 text-surface text-xs shadow-raised"
        >
          {text}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

export const TooltipProvider = Radix.Provider;
