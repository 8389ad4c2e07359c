import { useState } from "react";
import { useApp } from "../../app/AppContext";
import { CheckIcon, CopyIcon } from "../icons";
import { IconButton } from "../parts/IconButton";

const COPIED_FOR = 1_500;

export function CopyButton({ text }: { text: string }) {
  const { notices } = useApp();
  const [isCopied, setCopied] = useState(false);

  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(() => setCopied(false), COPIED_FOR);
    } catch {
      notices.tell("This browser does not allow copying", { kind: "problem" });
    }
  };

  return (
    <IconButton label={isCopied ? "Copied" : "Copy"} isSmall onClick={() => void copy()}>
      {isCopied ? <CheckIcon className="size-4" /> : <CopyIcon className="size-4" />}
    </IconButton>
  );
}
