import { type InfiniteData, useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Note, NoteHistory } from "../../api/types";
import { useApp } from "../../app/AppContext";
import { Button } from "../parts/Button";
import { ProblemBar } from "../parts/ProblemBar";
import { Skeleton } from "../parts/Skeleton";
import { NoteVersionRow } from "./NoteVersionRow";

export const VERSIONS_KEY = ["notes", "versions"];
const AT_ONCE = 20;

interface NoteVersionsProps {
  note: Note;
  onRestore: (text: string) => void;
}

/** What the notes were after each change, newest first. */
export function NoteVersions({ note, onRestore }: NoteVersionsProps) {
  const { client } = useApp();
  const [openVersion, setOpenVersion] = useState<number | null>(null);
  const versions = useInfiniteQuery<NoteHistory, Error, InfiniteData<NoteHistory>, string[], string | null>({
    queryKey: VERSIONS_KEY,
    queryFn: ({ pageParam }) =>
      client.get<NoteHistory>("/api/notes/history", { query: { limit: AT_ONCE, cursor: pageParam } }),
    initialPageParam: null,
    getNextPageParam: (last) => last.next,
  });
  const found = versions.data?.pages.flatMap((page) => page.items) ?? [];
  // What a change did shows only beside the version before it, so the last one waits for more.
  const shown = versions.hasNextPage ? found.slice(0, -1) : found;

  if (versions.isPending) return <Skeleton className="mt-4 h-40" />;
  return (
    <>
      <ol aria-label="Versions" className="divide-y divide-line border-line border-b">
        {shown.map((version, at) => (
          <NoteVersionRow
            key={version.version}
            version={version}
            before={found[at + 1]?.notes ?? ""}
            now={note}
            isOpen={openVersion === version.version}
            onToggle={() => setOpenVersion(openVersion === version.version ? null : version.version)}
            onRestore={() => onRestore(version.notes)}
          />
        ))}
      </ol>
      {versions.error && (
        <div className="mt-3">
          <ProblemBar actions={<Button onClick={() => void versions.refetch()}>Try again</Button>}>
            The versions cannot be read: {versions.error.message}
          </ProblemBar>
        </div>
      )}
      {versions.hasNextPage && (
        <Button className="mt-3" disabled={versions.isFetchingNextPage} onClick={() => void versions.fetchNextPage()}>
          {versions.isFetchingNextPage ? "Reading…" : "Older versions"}
        </Button>
      )}
    </>
  );
}
