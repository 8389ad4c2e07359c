import type { ReactNode } from "react";
import { useApp, useStoreOf } from "../../app/AppContext";
import { addressOf } from "../../state/route";

interface PageLinkProps {
  page: "memories" | "overview" | "settings";
  label: string;
  hint: string;
  icon: ReactNode;
}

export function PageLink({ page, label, hint, icon }: PageLinkProps) {
  const { router } = useApp();
  const isHere = useStoreOf(router.store, (state) => state.route.page === page);
  return (
    <a
      href={addressOf({ page })}
      aria-label={label}
      data-tip={`${label} (${hint})`}
      aria-current={isHere ? "page" : undefined}
      className={`target inline-flex size-9 items-center justify-center rounded-control transition-colors hover:bg-sunken hover:text-ink ${isHere ? "bg-sunken text-ink" : "text-soft"}`}
    >
      {icon}
    </a>
  );
}
