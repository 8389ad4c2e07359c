import { useApp, useStoreOf } from "../../app/AppContext";
import type { Inspected } from "../../state/inspector";
import { EyeIcon } from "../icons";
import { IconButton } from "../parts/IconButton";

interface InspectButtonProps {
  label: string;
  isSmall?: boolean;
  disabled?: boolean;
  className?: string;
  /** Asked when it is pressed. */
  inspected: () => Inspected;
}

/** Ask to see a prompt; in a temporary conversation there is only to say that none is kept. */
export function InspectButton({ label, inspected, ...rest }: InspectButtonProps) {
  const { conversation, inspector } = useApp();
  const isTemporary = useStoreOf(conversation.store, (state) => state.isTemporary);
  const open = () => {
    const { id } = conversation.store.getState();
    inspector.inspect(isTemporary ? { kind: "temporary", conversationId: id } : inspected());
  };
  return (
    <IconButton label={label} {...rest} onClick={open}>
      <EyeIcon className="size-4" />
    </IconButton>
  );
}
