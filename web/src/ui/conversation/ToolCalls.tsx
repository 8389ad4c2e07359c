import type { ToolCall } from "../../api/types";
import { ChevronRightIcon, ToolIcon } from "../icons";

/** What tools were asked and what they answered, folded. */
export function ToolCalls({ calls }: { calls: ToolCall[] }) {
  if (!calls.length) return null;
  return (
    <div className="mb-2 flex flex-col gap-1.5">
      {calls.map((call) => (
        <details key={call.id} className="group/call rounded-control border border-line text-sm">
          <summary className="target flex list-none items-center gap-2 px-3 py-1.5 text-soft hover:text-ink">
            <ToolIcon className="size-4" />
            <span className="min-w-0 flex-1 truncate">
              <span className="font-mono text-xs">{call.tool_name}</span>
              {call.output === null && <span className="pulses"> · running</span>}
            </span>
            <ChevronRightIcon className="size-4 transition-transform group-open/call:rotate-90" />
          </summary>
          <div className="border-line border-t px-3 py-2">
            <Value name="Asked" value={call.input} />
            {call.output !== null && <Value name="Answered" value={call.output} />}
          </div>
        </details>
      ))}
    </div>
  );
}

function Value({ name, value }: { name: string; value: unknown }) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return (
    <div className="py-1">
      <p className="text-soft text-xs">{name}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
      <pre tabIndex={0} className="max-h-60 overflow-auto whitespace-pre-wrap break-words font-mono text-xs">
        {text}
      </pre>
    </div>
  );
}
