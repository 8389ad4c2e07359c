import { lazy, Suspense, useEffect, useState } from "react";
import { useApp } from "../../app/AppContext";
import { MenuIcon, PlusIcon, SparkIcon } from "../icons";
import { Button } from "../parts/Button";
import { IconButton } from "../parts/IconButton";

const AddMemory = lazy(() => import("./AddMemory"));
const ExtractDialog = lazy(() => import("./ExtractDialog"));

/** The name of the page, and what adds memories to it. */
export function MemoryHeader() {
  const { layout } = useApp();
  const [opened, setOpened] = useState<"add" | "extract" | null>(null);
  useEffect(() => {
    document.title = "Memories · Recollect";
  }, []);
  const close = () => setOpened(null);
  return (
    <header className="flex min-h-14 items-center gap-2 px-3 md:px-6">
      <IconButton label="Conversations" className="md:!hidden" onClick={() => layout.setDrawer(true)}>
        <MenuIcon />
      </IconButton>
      <h1 className="flex-1 font-semibold">Memories</h1>
      <Button onClick={() => setOpened("extract")}>
        <SparkIcon className="size-4" />
        Extract
      </Button>
      <Button look="solid" onClick={() => setOpened("add")}>
        <PlusIcon className="size-4" />
        Add
      </Button>
      <Suspense>
        {opened === "add" && <AddMemory onClose={close} />}
        {opened === "extract" && <ExtractDialog onClose={close} />}
      </Suspense>
    </header>
  );
}
