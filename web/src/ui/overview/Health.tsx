import type { Overview } from "../../api/types";
import { When } from "../parts/When";
import { Card } from "./Card";
import { FactLine } from "./FactLine";

/** Who answers and learns, and how that fares. */
export function Health({ overview }: { overview: Overview }) {
  const { model, embedding, extraction } = overview;
  const isEmbedded = embedding.done >= embedding.total;
  return (
    <Card title="Model and learning">
      <dl className="text-sm">
        <FactLine name="Model">{model.name ?? "Built-in responder"}</FactLine>
        <FactLine name="State">
          <Breaker model={model} />
        </FactLine>
        <FactLine name="Learning">
          <Dot look={extraction ? "good" : "off"} /> {extraction ? "On" : "Off"}
        </FactLine>
        <FactLine name="Vectors">
          <span className="[overflow-wrap:anywhere]">{embedding.model}</span>
        </FactLine>
      </dl>
      <div className="mt-2 text-sm">
        <p className="flex justify-between text-soft text-xs">
          <span>{isEmbedded ? "Everything can be found by meaning" : "Being made findable by meaning"}</span>
          <span className="tabular-nums">
            {embedding.done} of {embedding.total}
          </span>
        </p>
        {!isEmbedded && (
          <progress
            aria-label="Texts with a vector"
            className="h-2 w-full accent-accent"
            max={embedding.total}
            value={embedding.done}
          />
        )}
      </div>
    </Card>
  );
}

function Breaker({ model }: { model: Overview["model"] }) {
  const { breaker } = model;
  if (!breaker) return "Answers from memory alone";
  if (breaker.state === "closed") {
    return (
      <>
        <Dot look="good" /> Working
      </>
    );
  }
  return (
    <>
      <Dot look="bad" /> {breaker.state === "open" ? "Not called, since it failed repeatedly" : "Being tried again"}
      {breaker.since && (
        <>
          , <When at={breaker.since} />
        </>
      )}
      {breaker.retry_at && (
        <span className="block text-soft text-xs">
          Called again from <When at={breaker.retry_at} />
        </span>
      )}
    </>
  );
}

const DOTS = { good: "bg-accent", bad: "bg-danger", off: "bg-edge" } as const;

function Dot({ look }: { look: keyof typeof DOTS }) {
  return <span aria-hidden="true" className={`mr-1 inline-block size-2 rounded-full ${DOTS[look]}`} />;
}
