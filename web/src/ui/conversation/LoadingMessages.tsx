import { Skeleton } from "../parts/Skeleton";

export function LoadingMessages() {
  return (
    <div className="mx-auto flex w-full max-w-3xl flex-1 flex-col gap-4 px-4 pt-8">
      <span role="status" className="sr-only">
        The conversation is being read
      </span>
      <Skeleton className="ml-auto h-10 w-1/2" />
      <Skeleton className="h-20 w-5/6" />
      <Skeleton className="ml-auto h-10 w-1/3" />
      <Skeleton className="h-14 w-3/4" />
    </div>
  );
}
