import { useApp, useStoreOf } from "../../app/AppContext";
import { Toast } from "../parts/Toast";

/** The notices that are shown now; they are read aloud when there is a pause. */
export function NoticeStack() {
  const { notices } = useApp();
  const shown = useStoreOf(notices.store, (state) => state.notices);
  return (
    <section
      aria-label="Notices"
      aria-live="polite"
      className="pointer-events-none fixed inset-x-0 bottom-28 z-50 mx-auto flex w-full max-w-sm flex-col gap-2 px-4"
    >
      {shown.map((notice) => (
        <Toast key={notice.id} notice={notice} onDismiss={() => notices.dismiss(notice.id)} />
      ))}
    </section>
  );
}
