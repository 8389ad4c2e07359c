import { useEffect } from "react";

/**
 * Keep the focus on the page.
 *
 * What has the focus may go or be disabled: a row is deleted, a notice ends, a button waits for a reply. Browsers then
 * focus nothing, and whoever uses a keyboard or listens starts from the beginning; instead the nearest place around it
 * that can have the focus gets it.
 */
export function useKeptFocus(): void {
  useEffect(() => {
    let path: Element[] = [];
    const remember = (event: FocusEvent) => {
      path = [];
      for (let at = event.target instanceof Element ? event.target : null; at; at = at.parentElement) path.push(at);
    };
    const mend = () => {
      if (document.activeElement !== document.body || !path[0]) return;
      // Whoever points at nothing wants nothing to be focused.
      if (path[0].isConnected && !path[0].matches(":disabled")) return;
      const around = path.find((one) => one.isConnected && one.matches("[tabindex]:not(:disabled)"));
      const place = around ?? document.getElementById("main");
      if (place instanceof HTMLElement) place.focus({ preventScroll: true });
    };
    const observer = new MutationObserver(mend);
    observer.observe(document.body, { subtree: true, childList: true, attributeFilter: ["disabled"] });
    document.addEventListener("focusin", remember);
    return () => {
      observer.disconnect();
      document.removeEventListener("focusin", remember);
    };
  }, []);
}
