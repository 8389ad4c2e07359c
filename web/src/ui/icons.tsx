import type { ReactNode } from "react";

interface IconProps {
  className?: string;
}

/** Icons are drawn with the colour of the text beside them, and say nothing by themselves. */
function Drawing({ className = "size-4.5", children }: IconProps & { children: ReactNode }) {
  return (
    <svg
      viewBox="0 0 24 24"
      className={`shrink-0 ${className}`}
      fill="none"
      stroke="currentColor"
      strokeWidth="1.75"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      {children}
    </svg>
  );
}

export const ArchiveIcon = (props: IconProps) => (
  <Drawing {...props}>
    <path d="M4 8v10a2 2 0 0 0 2 2h12a2 2 0 0 0 2-2V8M3 4h18v4H3zM10 12h4" />
  </Drawing>
);
export const BrainIcon = (props: IconProps) => (
  <Drawing {...props}>
    <path d="M12 5a3 3 0 0 0-5.8-1A3 3 0 0 0 4.5 9.2 3.2 3.2 0 0 0 5 14a3.3 3.3 0 0 0 3 5 2.5 2.5 0 0 0 4-2zm0 0a3 3 0 0 1 5.8-1 3 3 0 0 1 1.7 5.200A3.2 3.2 0 0 1 19 14a3.3 3.3 0 0 1-3 5 2.5 2.5 0 0 1-4-2zM8.5 9.500c1.2 0 2 .5 2.3 1.500M15.5 9.500c-1.2 0-2 .5-2.3 1.5" />
  </Drawing>
);
export const ChartIcon = (props: IconProps) => (
  <Drawing {...props}>
    <path d="M4 4v16h16M8 16v-4M12.5 16V8M17 16v-6" />
  </Drawing>
);
export const CheckIcon = (props: IconProps) => (
  <Drawing {...props}>
    <path d="m5 12.5 4.5 4.500L19 7.5" />
  </Drawing>
);
export const ChevronDownIcon = (props: IconProps) => (
  <Drawing {...props}>
    <path d="m6 9 6 6 6-6" />
  </Drawing>
);
export const ChevronLeftIcon = (props: IconProps) => (
  <Drawing {...props}>
    <path d="m15 6-6 6 6 6" />
  </Drawing>
);
export const ChevronRightIcon = (props: IconProps) => (
  <Drawing {...props}>
    <path d="m9 6 6 6-6 6" />
  </Drawing>
);
export const CloseIcon = (props: IconProps) => (
  <Drawing {...props}>
    <path d="M6 6l12 12M18 6 6 18" />
  </Drawing>
);
export const CopyIcon = (props: IconProps) => (
  <Drawing {...props}>
    <rect x="9" y="9" width="11" height="11" rx="2" />
    <path d="M5 15a1 1 0 0 1-1-1V5a1 1 0 0 1 1-1h9a1 1 0 0 1 1 1" />
  </Drawing>
);
export const DownloadIcon = (props: IconProps) => (
  <Drawing {...props}>
    <path d="M12 4v11m0 0 4.5-4.500M12 15l-4.5-4.500M4 19h16" />
  </Drawing>
);
export const EraserIcon = (props: IconProps) => (
  <Drawing {...props}>
    <path d="m7 20-3.5-3.500a1.5 1.5 0 0 1 0-2L13 5l7 7-8 8zM20 20H7M8.5 9.500l6.5 6.5" />
  </Drawing>
);
export const EyeIcon = (props: IconProps) => (
  <Drawing {...props}>
    <path d="M2.500 12S6 5.500 12 5.500 21.500 12 21.500 12 18 18.500 12 18.500 2.500 12 2.500 12z" />
    <circle cx="12" cy="12" r="2.750" />
  </Drawing>
);
export const GearIcon = (props: IconProps) => (
  <Drawing {...props}>
    <circle cx="12" cy="12" r="3" />
    <path d="M12 3v2.500M12 18.500V21M3 12h2.500M18.5 12H21M5.6 5.600l1.8 1.800M16.6 16.600l1.8 1.800M5.6 18.400l1.8-1.800M16.6 7.400l1.8-1.8" />
  </Drawing>
);
export const GhostIcon = (props: IconProps) => (
  <Drawing {...props}>
    <path d="M5 20v-9a7 7 0 0 1 14 0v9l-2.3-1.800L14.3 20 12 18.2 9.7 20l-2.4-1.800zM9.5 11h.01M14.5 11h.01" />
  </Drawing>
);
export const KeyboardIcon = (props: IconProps) => (
  <Drawing {...props}>
    <rect x="3" y="6" width="18" height="12" rx="2" />
    <path d="M7 10h.01M11 10h.01M15 10h.01M17 10h.01M8 14h8" />
  </Drawing>
);
export const MenuIcon = (props: IconProps) => (
  <Drawing {...props}>
    <path d="M4 7h16M4 12h16M4 17h16" />
  </Drawing>
);
export const MoreIcon = (props: IconProps) => (
  <Drawing {...props}>
    <path d="M5.5 12h.01M12 12h.01M18.5 12h.01" strokeWidth="2.75" />
  </Drawing>
);
export const PencilIcon = (props: IconProps) => (
  <Drawing {...props}>
    <path d="M4 20h4L19 9a2 2 0 0 0-3-3L5 16.500zM14.5 7.500l3 3" />
  </Drawing>
);
export const PinIcon = (props: IconProps) => (
  <Drawing {...props}>
    <path d="M9 4h6l-.7 6 3.2 3.500h-11L9.7 10zM12 13.500V20" />
  </Drawing>
);
export const PlusIcon = (props: IconProps) => (
  <Drawing {...props}>
    <path d="M12 5v14M5 12h14" />
  </Drawing>
);
export const RefreshIcon = (props: IconProps) => (
  <Drawing {...props}>
    <path d="M20 11a8 8 0 0 0-14.3-4L4 9m0-5v5h5M4 13a8 8 0 0 0 14.3 4l1.7-2m0 5v-5h-5" />
  </Drawing>
);
export const SearchIcon = (props: IconProps) => (
  <Drawing {...props}>
    <circle cx="11" cy="11" r="6.5" />
    <path d="m20 20-4.2-4.2" />
  </Drawing>
);
export const SendIcon = (props: IconProps) => (
  <Drawing {...props}>
    <path d="M12 19V5m0 0-6 6m6-6 6 6" strokeWidth="2" />
  </Drawing>
);
export const StopIcon = (props: IconProps) => (
  <Drawing {...props}>
    <rect x="7" y="7" width="10" height="10" rx="1.5" fill="currentColor" />
  </Drawing>
);
export const ToolIcon = (props: IconProps) => (
  <Drawing {...props}>
    <path d="M14.5 6.500a4 4 0 0 1 5-1.500L17 7.500l.5 2 2 .5L22 7.500a4 4 0 0 1-5.3 4.800L9 20a2.1 2.1 0 0 1-3-3l7.7-7.700a4 4 0 0 1 .8-2.800z" />
  </Drawing>
);
export const TrashIcon = (props: IconProps) => (
  <Drawing {...props}>
    <path d="M4 7h16M9 7V4.500h6V7M6 7l1 13h10l1-13M10 11v5M14 11v5" />
  </Drawing>
);
export const WarningIcon = (props: IconProps) => (
  <Drawing {...props}>
    <path d="M12 4 2.5 20h19zM12 10v4.500M12 17.500h.01" />
  </Drawing>
);
export const FilterIcon = (props: IconProps) => (
  <Drawing {...props}>
    <path d="M4 6h16M7 12h10M10 18h4" />
  </Drawing>
);
export const SparkIcon = (props: IconProps) => (
  <Drawing {...props}>
    <path d="M12 4l1.8 5.200L19 11l-5.2 1.800L12 18l-1.800-5.200L5 11l5.200-1.800zM19 16.500v4M17 18.500h4" />
  </Drawing>
);
