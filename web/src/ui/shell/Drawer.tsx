import * as Radix from "@radix-ui/react-dialog";
import { useEffect, useRef } from "react";
import { useApp, useStoreOf } from "../../app/AppContext";
import { Sidebar } from "./Sidebar";

/** The sidebar of a small screen, over the page. */
export default function Drawer() {
  const { layout, router } = useApp();
  const route = useStoreOf(router.store, (state) => state.route);

  // Whatever is chosen in the drawer is behind it.
  const before = useRef(route);
  const openedFrom = useRef<Element | null>(null);
  useEffect(() => {
    if (route !== before.current) layout.setDrawer(false);
  }, [route, layout]);

  return (
    <Radix.Root open onOpenChange={layout.setDrawer}>
      <Radix.Portal>
        <div className="fixed inset-0 z-30 bg-black/45" aria-hidden="true" />
        <Radix.Content
          aria-describedby={undefined}
          onOpenAutoFocus={() => {
            openedFrom.current = document.activeElement;
          }}
          onCloseAutoFocus={(event) => {
            // Radix gives the focus back to a trigger of its own alone, and ours is in the header of the page.
            event.preventDefault();
            if (openedFrom.current instanceof HTMLElement) openedFrom.current.focus();
          }}
          className="slides-in fixed inset-y-0 left-0 z-40 flex w-80 max-w-[88vw] border-line border-r shadow-raised outline-none"
        >
          <Radix.Title className="sr-only">Conversations</Radix.Title>
          <Sidebar />
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
