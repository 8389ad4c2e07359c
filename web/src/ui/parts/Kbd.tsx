const IS_APPLE = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.userAgent);

/** Keys that are pressed together. */
export function Kbd({ keys }: { keys: readonly string[] }) {
  return (
    <span className="inline-flex gap-1">
      {keys.map((key) => (
        <kbd
          key={key}
          className="inline-flex min-w-6 justify-center rounded-md border border-line border-b-2 bg-sunken px-1.5 py-0.5 font-sans text-soft text-xs"
        >
          {key === "mod" ? (IS_APPLE ? "⌘" : "Ctrl") : key}
        </kbd>
      ))}
    </span>
  );
}
