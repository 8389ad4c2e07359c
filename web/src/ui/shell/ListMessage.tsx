import { Button } from "../parts/Button";
import { Skeleton } from "../parts/Skeleton";

interface ListMessageProps {
  search: string;
  isArchived: boolean;
  isLoading: boolean;
  problem: Error | null;
  onRetry: () => void;
}

/** What stands in the place of an empty list. */
export function ListMessage({ search, isArchived, isLoading, problem, onRetry }: ListMessageProps) {
  if (isLoading) {
    return (
      <div className="flex flex-col gap-3 px-2 pt-4">
        {["w-3/4", "w-11/12", "w-2/3", "w-10/12", "w-1/2"].map((width) => (
          <Skeleton key={width} className={`h-5 ${width}`} />
        ))}
      </div>
    );
  }
  if (problem) {
    return (
      <div className="flex flex-col items-start gap-2 px-2 pt-4 text-sm text-soft">
        {problem.message}
        <Button onClick={onRetry}>Try again</Button>
      </div>
    );
  }
  const text = search
    ? "Nothing was found."
    : isArchived
      ? "Nothing is archived."
      : "What you talk about will be listed here.";
  return (
    <p role="status" className="px-2 pt-4 text-sm text-soft">
      {text}
    </p>
  );
}
