import { BrainIcon } from "../icons";
import { EmptyState } from "../parts/EmptyState";
import { PageFrame } from "../shell/PageFrame";

export default function MemoryPage() {
  return (
    <PageFrame title="Memories">
      <EmptyState icon={<BrainIcon className="size-6" />} title="Memories">
        What is remembered will be listed here.
      </EmptyState>
    </PageFrame>
  );
}
