import { ChartIcon } from "../icons";
import { EmptyState } from "../parts/EmptyState";
import { PageFrame } from "../shell/PageFrame";

export default function OverviewPage() {
  return (
    <PageFrame title="Overview">
      <EmptyState icon={<ChartIcon className="size-6" />} title="Overview">
        Figures of what is kept will be shown here.
      </EmptyState>
    </PageFrame>
  );
}
