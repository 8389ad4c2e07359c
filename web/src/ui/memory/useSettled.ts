import { useEffect, useState } from "react";

const SETTLED_AFTER = 180;

/** A text once it has stopped changing, so that not every letter is searched for. */
export function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), text ? SETTLED_AFTER : 0);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
