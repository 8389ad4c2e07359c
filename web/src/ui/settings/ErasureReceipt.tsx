import { useState } from "react";
import type { Receipt } from "../../api/types";
import { Button } from "../parts/Button";
import { When } from "../parts/When";

const KINDS: Record<string, string> = { keys: "API keys" };

/** The proof of an erasure: its id, and how many records of each kind are gone. */
export function ErasureReceipt({ receipt, onClose }: { receipt: Receipt; onClose: () => void }) {
  const [copying, setCopying] = useState("Copy the receipt");
  const counts = Object.entries(receipt.erased).filter(([, count]) => count > 0);
  const copy = () =>
    navigator.clipboard.writeText(JSON.stringify(receipt, null, 2)).then(
      () => setCopying("Copied"),
      () => setCopying("Not copied"),
    );
  return (
    <div className="flex flex-col gap-3 text-sm">
      <p>
        Receipt <code className="font-mono text-xs [overflow-wrap:anywhere]">{receipt.receipt_id}</code>,{" "}
        <When at={receipt.at} />
      </p>
      {counts.length ? (
        <dl className="divide-y divide-line border-line border-y">
          {counts.map(([kind, count]) => (
            <div key={kind} className="flex justify-between py-1.5">
              <dt>{KINDS[kind] ?? kind.replaceAll("_", " ")}</dt>
              <dd className="tabular-nums">{count}</dd>
            </div>
          ))}
        </dl>
      ) : (
        <p className="text-soft">There was nothing to erase.</p>
      )}
      <div className="flex justify-end gap-2">
        <Button onClick={() => void copy()}>{copying}</Button>
        <Button look="solid" onClick={onClose}>
          Begin anew
        </Button>
      </div>
    </div>
  );
}
