import { cloneElement, lazy, type ReactElement, Suspense, useState } from "react";
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
  const [wasOpened, setOpened] = useState(false);
  const closed = cloneElement(trigger, {
    "aria-haspopup": "menu",
    "aria-expanded": false,
    onPointerEnter: () => void surface(),
    onFocus: () => void surface(),
    onClick: () => setOpened(true),
  });
  if (!wasOpened) return closed;
  return (
    <Suspense fallback={closed}>
      <MenuSurface trigger={trigger}>{children}</MenuSurface>
    </Suspense>
  );
}

export const MenuItem = (props: MenuItemProps) => <Item {...props} />;
export const MenuLine = () => <Line />;
