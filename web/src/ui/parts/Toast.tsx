import type { Notice } from "../../state/notices";
import { CloseIcon, WarningIcon } from "../icons";
import { IconButton } from "./IconButton";

/** One calm notice, with what can be done about it. */
export function Toast({ notice, onDismiss }: { notice: Notice; onDismiss: () => void }) {
  const { action } = notice;
  return (
    <div className="appears pointer-events-auto flex w-full items-center gap-2 rounded-panel bg-ink py-1.5 pr-1.5 pl-4 text-sm text-surface shadow-raised">
      {notice.kind === "problem" && <WarningIcon />}
      <span className="min-w-0 flex-1 py-1">{notice.text}</span>
      {action && (
        <button
          type="button"
          className="target rounded-control px-2.5 py-1 font-semibold underline underline-offset-4 outline-surface hover:no-underline"
          onClick={() => {
            action.act();
            onDismiss();
          }}
        >
          {action.label}
        </button>
      )}
      <IconButton
        label="Dismiss"
        isSmall
        className="!text-surface outline-surface hover:!bg-surface/15"
        onClick={onDismiss}
      >
        <CloseIcon className="size-4" />
      </IconButton>
    </div>
  );
}
