import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Overview } from "../../api/types";
import { useApp } from "../../app/AppContext";
import { Button } from "../parts/Button";
import { ProblemBar } from "../parts/ProblemBar";
import { Skeleton } from "../parts/Skeleton";
import { PageFrame } from "../shell/PageFrame";
import { Card } from "./Card";
import { CountBars } from "./CountBars";
import { Figures } from "./Figures";
import { Health } from "./Health";
import { Jobs } from "./Jobs";
import { MemoryChart } from "./MemoryChart";
import { MemoryTable } from "./MemoryTable";
import { Storage } from "./Storage";

const TIMES = [
  { days: 30, label: "30 days" },
  { days: 90, label: "90 days" },
  { days: 365, label: "1 year" },
];

/** How much is kept, what became of it over time, and how the parts that learn and answer fare. */
export default function OverviewPage() {
  const { client } = useApp();
  const [days, setDays] = useState(90);
  const overview = useQuery({
    queryKey: ["overview", days],
    queryFn: () => client.get<Overview>("/api/overview", { query: { days } }),
    placeholderData: keepPreviousData,
  });
  const { data, error } = overview;
  return (
    <PageFrame title="Overview">
      <div className="flex flex-col gap-4">
        {error && (
          <ProblemBar actions={<Button onClick={() => void overview.refetch()}>Try again</Button>}>
            The overview cannot be read: {error.message}
          </ProblemBar>
        )}
        {data ? (
          <Everything overview={data} days={days} onDays={setDays} />
        ) : (
          !error && [1, 2, 3].map((one) => <Skeleton key={one} className="h-32" />)
        )}
      </div>
    </PageFrame>
  );
}

interface EverythingProps {
  overview: Overview;
  days: number;
  onDays: (days: number) => void;
}

function Everything({ overview, days, onDays }: EverythingProps) {
  const { memories } = overview;
  const none = "There are no memories yet. They come from what you say in conversations.";
  return (
    <>
      <Figures overview={overview} />
      <Card
        title="Memories over time"
        tools={
          <fieldset className="flex gap-1">
            <legend className="sr-only">Time</legend>
            {TIMES.map((one) => (
              <Button
                key={one.days}
                look={one.days === days ? "plain" : "quiet"}
                aria-pressed={one.days === days}
                onClick={() => onDays(one.days)}
              >
                {one.label}
              </Button>
            ))}
          </fieldset>
        }
      >
        <MemoryChart days={memories.by_day} />
        <MemoryTable days={memories.by_day} />
      </Card>
      <div className="grid gap-4 sm:grid-cols-3">
        <Card title="Types">
          <CountBars counts={memories.by_type} empty={none} />
        </Card>
        <Card title="Categories">
          <CountBars counts={memories.by_category} empty="No memory has a category." />
        </Card>
        <Card title="Origins">
          <CountBars counts={memories.by_origin} empty="Nothing comes from anywhere yet." />
        </Card>
      </div>
      <div className="grid gap-4 sm:grid-cols-2">
        <Health overview={overview} />
        <Storage storage={overview.storage} />
      </div>
      <Jobs counts={overview.jobs} />
    </>
  );
}
