import * as Radix from "@radix-ui/react-dialog";
import { useEffect } from "react";
import { useApp, useStoreOf } from "../../app/AppContext";
import { Sidebar } from "./Sidebar";

const WIDE = "(min-width: 48rem)";

/** The sidebar of a small screen, over the page. */
export function Drawer() {
  const { layout, router } = useApp();
  const isOpen = useStoreOf(layout.store, (state) => state.isDrawerOpen);
  const route = useStoreOf(router.store, (state) => state.route);

  // Whatever is chosen in the drawer is behind it.
  useEffect(() => {
    if (route) layout.setDrawer(false);
  }, [route, layout]);

  // On a wide screen the sidebar itself is there.
  if (!isOpen || window.matchMedia(WIDE).matches) return null;
  return (
    <Radix.Root open onOpenChange={layout.setDrawer}>
      <Radix.Portal>
        <div className="fixed inset-0 z-30 bg-black/45" aria-hidden="true" />
        <Radix.Content
          aria-describedby={undefined}
          className="slides-in fixed inset-y-0 left-0 z-40 flex w-80 max-w-[88vw] border-line border-r shadow-raised outline-none"
        >
          <Radix.Title className="sr-only">Conversations</Radix.Title>
          <Sidebar />
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
