import { useMemo } from "react";
import { type DiffLine, hunksOf, lineDiff } from "../../state/notesDiff";

interface LineDiffProps {
  label: string;
  before: string;
  after: string;
}

const withoutEnd = (text: string) => text.replace(/\n$/, "");

/** What differs between two texts, line by line. */
export function LineDiff({ label, before, after }: LineDiffProps) {
  const hunks = useMemo(() => hunksOf(lineDiff(withoutEnd(before), withoutEnd(after))), [before, after]);
  const isSame = hunks.every((hunk) => hunk.lines.length === 0);
  if (isSame) {
    return (
      <p className="text-soft text-sm">{before === after ? "Nothing differs." : "Only its last line break differs."}</p>
    );
  }
  return (
    <section aria-label={label} className="overflow-hidden rounded-control border border-line bg-surface text-sm">
      {hunks.map((hunk, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: hunks have no name but their place, and are never moved.
        <div key={at}>
          {hunk.skipped > 0 && (
            <p className="bg-sunken px-3 py-0.5 text-soft text-xs">
              {hunk.skipped === 1 ? "1 line that is the same" : `${hunk.skipped} lines that are the same`}
            </p>
          )}
          {hunk.lines.map((line, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a line has no name but its place, and is never moved.
            <Line key={place} {...line} />
          ))}
        </div>
      ))}
    </section>
  );
}

function Line({ kind, text }: DiffLine) {
  const shown = text || "\u00a0";
  const frame = "flex gap-2 whitespace-pre-wrap px-3 py-0.5 [overflow-wrap:anywhere]";
  if (kind === "same") {
    return (
      <p className={`${frame} text-soft`}>
        <Sign sign=" " />
        {shown}
      </p>
    );
  }
  const isAdded = kind === "added";
  const Tag = isAdded ? "ins" : "del";
  return (
    <p className={`${frame} ${isAdded ? "bg-accent-soft" : "bg-danger-soft"}`}>
      <Sign sign={isAdded ? "+" : "−"} />
      <span className="sr-only">{isAdded ? "Added: " : "Removed: "}</span>
      <Tag className="min-w-0 no-underline">{shown}</Tag>
    </p>
  );
}

function Sign({ sign }: { sign: string }) {
  return (
    <span aria-hidden="true" className="w-3 shrink-0 select-none text-center font-mono">
      {sign}
    </span>
  );
}
