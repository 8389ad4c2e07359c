import { useEffect, useLayoutEffect, useRef, useState } from "react";

const DELAY = 450;
const GAP = 6;
const EDGE = 8;

/**
 * Show the `data-tip` of whatever is pointed at or focused by keyboard.
 *
 * One layer for the page instead of one per button: a long list has hundreds of buttons, and a tip only repeats the
 * label that the button has anyway.
 */
export function TooltipLayer() {
  const [target, setTarget] = useState<Element | null>(null);
  const bubble = useRef<HTMLDivElement>(null);

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const hide = () => {
      clearTimeout(timer);
      setTarget(null);
    };
    const show = (event: Event, delay: number) => {
      const element = event.target instanceof Element ? event.target : null;
      // A tip stays while it is itself pointed at.
      if (element?.closest("[data-tip-bubble]")) return;
      hide();
      const found = element?.closest("[data-tip]");
      // Whoever has opened something knows what it does.
      if (found?.getAttribute("aria-expanded") === "true") return;
      if (found) timer = setTimeout(() => setTarget(found), delay);
    };
    const onPointer = (event: PointerEvent) => event.pointerType === "mouse" && show(event, DELAY);
    const onFocus = (event: FocusEvent) => {
      if (event.target instanceof Element && event.target.matches(":focus-visible")) show(event, 0);
    };
    const onKey = (event: KeyboardEvent) => event.key === "Escape" && hide();
    const events = new AbortController();
    const { signal } = events;
    document.addEventListener("pointerover", onPointer, { signal });
    document.addEventListener("focusin", onFocus, { signal });
    document.addEventListener("keydown", onKey, { signal });
    for (const kind of ["pointerdown", "focusout", "scroll", "wheel"]) {
      document.addEventListener(kind, hide, { signal, capture: true, passive: true });
    }
    return () => {
      events.abort();
      clearTimeout(timer);
    };
  }, []);

  useLayoutEffect(() => {
    const element = bubble.current;
    if (!element || !target) return;
    const at = target.getBoundingClientRect();
    const { width, height } = element.getBoundingClientRect();
    const left = Math.min(Math.max(at.left + at.width / 2 - width / 2, EDGE), window.innerWidth - width - EDGE);
    const above = at.top - height - GAP;
    element.style.left = `${left}px`;
    element.style.top = `${above > EDGE ? above : at.bottom + GAP}px`;
  }, [target]);

  if (!target?.isConnected) return null;
  return (
    <div
      ref={bubble}
      data-tip-bubble
      aria-hidden="true"
      className="fixed z-50 max-w-72 rounded-md bg-ink px-2 py-1 text-surface text-xs shadow-raised"
    >
      {target.getAttribute("data-tip")}
    </div>
  );
}
