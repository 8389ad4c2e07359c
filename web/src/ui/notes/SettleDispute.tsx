import { useEffect, useId, useRef, useState } from "react";
import { type Choice, type Dispute, disputesIn, type Piece } from "../../state/notesMerge";
import { Button } from "../parts/Button";

interface SettleDisputeProps {
  pieces: Piece[];
  isSaving: boolean;
  onSettle: (choices: Choice[]) => void;
  onBack: () => void;
}

const CHOICES: { choice: Choice; label: string }[] = [
  { choice: "both", label: "Keep both" },
  { choice: "mine", label: "Keep mine" },
  { choice: "theirs", label: "Keep what is stored" },
];

/** Show where what was typed and what was stored meanwhile do not go together, and let the user decide. */
export function SettleDispute({ pieces, isSaving, onSettle, onBack }: SettleDisputeProps) {
  const disputes = disputesIn(pieces);
  const [choices, setChoices] = useState<Choice[]>(() => disputes.map(() => "both"));
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);

  return (
    <section
      className="my-3 flex flex-col gap-4 rounded-panel border border-line bg-warning-soft p-4"
      aria-label="Decide"
    >
      <div>
        <h3 ref={heading} tabIndex={-1} className="font-semibold outline-none">
          The notes were changed while you were writing
        </h3>
        <p className="text-sm text-soft">
          Everything else is joined already. Decide about{" "}
          {disputes.length === 1 ? "this place" : `these ${disputes.length} places`}; nothing is saved before.
        </p>
      </div>
      {disputes.map((dispute, at) => (
        <OneDispute
          // biome-ignore lint/suspicious/noArrayIndexKey: a place in the text has no name but its number.
          key={at}
          dispute={dispute}
          name={`Place ${at + 1} of ${disputes.length}`}
          choice={choices[at] ?? "both"}
          onChoice={(choice) => setChoices(choices.map((one, place) => (place === at ? choice : one)))}
        />
      ))}
      <div className="flex flex-wrap justify-end gap-2">
        <Button look="quiet" onClick={onBack}>
          Back to my text
        </Button>
        <Button look="solid" disabled={isSaving} onClick={() => onSettle(choices)}>
          {isSaving ? "Saving…" : "Save"}
        </Button>
      </div>
    </section>
  );
}

interface OneDisputeProps {
  dispute: Dispute;
  name: string;
  choice: Choice;
  onChoice: (choice: Choice) => void;
}

function OneDispute({ dispute, name, choice, onChoice }: OneDisputeProps) {
  const group = useId();
  return (
    <fieldset>
      <legend className="mb-1.5 font-medium text-sm">{name}</legend>
      <div className="grid gap-2 sm:grid-cols-2">
        <Side title="Mine" lines={dispute.mine} />
        <Side title="Stored now" lines={dispute.theirs} />
      </div>
      <div className="mt-2 flex flex-wrap gap-x-5 gap-y-1">
        {CHOICES.map((one) => (
          <label key={one.choice} className="flex min-h-9 items-center gap-2 text-sm pointer-coarse:min-h-11">
            <input
              type="radio"
              name={group}
              className="size-4 accent-accent"
              checked={choice === one.choice}
              onChange={() => onChoice(one.choice)}
            />
            {one.label}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

function Side({ title, lines }: { title: string; lines: string[] }) {
  const text = lines.join("\n");
  return (
    <div className="rounded-control border border-line bg-surface p-2.5">
      <h4 className="mb-1 text-soft text-xs">{title}</h4>
      <p className="whitespace-pre-wrap text-sm [overflow-wrap:anywhere]">
        {text.trim() ? text : <em className="text-soft">{lines.length ? "An empty line" : "Deleted"}</em>}
      </p>
    </div>
  );
}
