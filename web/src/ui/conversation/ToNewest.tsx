import { useApp } from "../../app/AppContext";
import { ChevronDownIcon } from "../icons";
import { Button } from "../parts/Button";
import { IconButton } from "../parts/IconButton";

interface ToNewestProps {
  /** Whether what is shown ends before the conversation does. */
  isFar: boolean;
  onGo: () => void;
}

/** The way down, for whoever reads above. */
export function ToNewest({ isFar, onGo }: ToNewestProps) {
  const { conversation, router } = useApp();
  const look = "-translate-x-1/2 absolute bottom-3 left-1/2 !rounded-full border border-line bg-surface shadow-soft";
  if (!isFar) {
    return (
      <IconButton label="To the newest message" className={look} onClick={onGo}>
        <ChevronDownIcon />
      </IconButton>
    );
  }
  // The address no longer names a message, so that a reload stays at the end as well; following it reads the newest.
  const go = () => {
    const { route } = router.store.getState();
    if (route.page === "conversation" && route.messageId) router.replace({ page: "conversation", id: route.id });
    else void conversation.toNewest();
  };
  return (
    <Button className={look} onClick={go}>
      <ChevronDownIcon className="size-4" />
      Back to the newest
    </Button>
  );
}
