import { lazy, Suspense } from "react";
import { useApp, useStoreOf } from "../../app/AppContext";

const Inspector = lazy(() => import("./Inspector"));

/** Where the prompt of this conversation is shown once somebody asks for it. */
export function InspectorSlot({ conversationId }: { conversationId: string }) {
  const { inspector } = useApp();
  const inspected = useStoreOf(inspector.store, (state) => state.inspected);
  if (inspected?.conversationId !== conversationId) return null;
  return (
    <Suspense>
      <Inspector inspected={inspected} />
    </Suspense>
  );
}
