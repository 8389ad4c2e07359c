import { cloneElement, lazy, type MouseEvent, type ReactElement, Suspense, useState } from "react";
import type { IconButtonProps } from "./IconButton";
import type { MenuItemProps } from "./MenuSurface";

const surface = () => import("./MenuSurface");
const MenuSurface = lazy(surface);
const Item = lazy(() => surface().then(({ MenuItem }) => ({ default: MenuItem })));
const Line = lazy(() => surface().then(({ MenuLine }) => ({ default: MenuLine })));

interface MenuProps {
  trigger: ReactElement<IconButtonProps>;
  children: React.ReactNode;
}

/** A menu; what draws it is loaded when it is about to be used, for most visits open none. */
export function Menu({ trigger, children }: MenuProps) {
  const [region, setRegion] = useState<HTMLElement | null>(null);
  const [isByKeyboard, setByKeyboard] = useState(false);
  const closed = cloneElement(trigger, {
    "aria-haspopup": "menu",
    "aria-expanded": false,
    onPointerEnter: () => void surface(),
    onFocus: () => void surface(),
    // The menu belongs to the region of its button, where those who go from region to region look for it.
    onClick: (event: MouseEvent<HTMLElement>) => {
      setByKeyboard(event.detail === 0);
      setRegion(event.currentTarget.closest<HTMLElement>("[role=dialog],aside,main") ?? document.body);
    },
  });
  if (!region) return closed;
  return (
    <Suspense fallback={closed}>
      <MenuSurface trigger={trigger} region={region} isByKeyboard={isByKeyboard}>
        {children}
      </MenuSurface>
    </Suspense>
  );
}

export const MenuItem = (props: MenuItemProps) => <Item {...props} />;
export const MenuLine = () => <Line />;
