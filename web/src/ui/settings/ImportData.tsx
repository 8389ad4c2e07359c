import { useId, useRef, useState } from "react";
import type { Imported, ServerSettings } from "../../api/types";
import { useApp, useStoreOf } from "../../app/AppContext";
import { createImporting } from "../../state/importing";
import { bytesInWords } from "../../state/overviewWords";
import { Button } from "../parts/Button";
import { ProblemBar } from "../parts/ProblemBar";

/** Take in a file that an export made. */
export function ImportData({ settings }: { settings: ServerSettings }) {
  const { client, queries } = useApp();
  const [importing] = useState(() => createImporting(client));
  const { progress, result, problem } = useStoreOf(importing.store, (state) => state);
  const [isTrusted, setTrusted] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const hint = useId();

  const take = async (file: File | undefined) => {
    if (!file) return;
    await importing.run(file, isTrusted, settings.limits.body_bytes);
    // The same file can be chosen again.
    if (field.current) field.current.value = "";
    await queries.invalidateQueries();
  };

  return (
    <div className="flex flex-col gap-2">
      <label className="flex min-h-9 items-center gap-2.5 text-sm pointer-coarse:min-h-11">
        <input
          type="checkbox"
          className="size-4 shrink-0 accent-accent"
          checked={isTrusted}
          disabled={progress !== null}
          aria-describedby={hint}
          onChange={(event) => setTrusted(event.target.checked)}
        />
        The file is my own export, unchanged
      </label>
      <p id={hint} className="-mt-2 mb-1 pl-6.5 text-sm text-soft">
        Then its memories keep their trust and pins, and its notes and preferences are taken over. Otherwise its
        memories wait for your review.
      </p>
      <input
        ref={field}
        type="file"
        aria-label="File to import"
        accept=".jsonl,.ndjson,.json,application/x-ndjson,application/json"
        className="hidden"
        onChange={(event) => void take(event.target.files?.[0])}
      />
      {progress ? (
        <div className="flex items-center gap-3">
          <progress
            aria-label="Import"
            className="h-2 min-w-0 flex-1 accent-accent"
            max={progress.total || 1}
            value={progress.done}
          />
          <span className="text-soft text-xs tabular-nums">
            {bytesInWords(progress.done)} of {bytesInWords(progress.total)}
          </span>
          <Button onClick={importing.stop}>Stop</Button>
        </div>
      ) : (
        <Button className="self-start" onClick={() => field.current?.click()}>
          Import a file…
        </Button>
      )}
      {problem && (
        <ProblemBar>
          The import ended early: {problem} The same file can be sent again; nothing is stored twice.
        </ProblemBar>
      )}
      <div role="status">{result && <ImportResult result={result} />}</div>
    </div>
  );
}

const STORED = ["conversations", "messages", "summaries", "memories", "notes", "preferences"] as const;

function ImportResult({ result }: { result: Imported }) {
  const stored = STORED.filter((name) => result[name] > 0).map((name) => `${result[name]} ${name}`);
  return (
    <div className="rounded-control border border-line p-3 text-sm">
      <p className="font-medium">{stored.length ? `Stored: ${stored.join(", ")}.` : "Nothing new was in it."}</p>
      {result.skipped > 0 && <p className="text-soft">{result.skipped} records were there before.</p>}
      {result.refused > 0 && (
        <details>
          <summary className="min-h-6 py-1 text-soft pointer-coarse:min-h-11">
            {result.refused} records were not stored
          </summary>
          <ul className="mt-1 max-h-48 overflow-y-auto pl-4">
            {result.refusals.map((one) => (
              <li key={one.line} className="list-disc">
                Line {one.line}: {one.why}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}
