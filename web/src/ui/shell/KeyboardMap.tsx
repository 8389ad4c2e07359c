import { useApp } from "../../app/AppContext";
import { COMPOSER_KEYS, SHORTCUTS } from "../../state/shortcuts";
import { Dialog } from "../parts/Dialog";
import { Kbd } from "../parts/Kbd";

const IN_LIST = [
  { keys: ["↑", "↓"], says: "Go through the list" },
  { keys: ["F2"], says: "Rename" },
  { keys: ["Del"], says: "Delete" },
];

const IN_MEMORIES = [
  { keys: ["Enter"], says: "Open" },
  { keys: ["Space"], says: "Select; with Shift from the last one on" },
  { keys: ["F2"], says: "Edit" },
  { keys: ["mod", "Enter"], says: "Save the edit" },
  { keys: ["Del"], says: "Delete" },
];

/** Every key that does something. */
export default function KeyboardMap() {
  const { layout } = useApp();
  return (
    <Dialog isOpen onOpenChange={layout.setKeyboardMap} title="Keyboard" isWide>
      <div className="grid gap-x-8 gap-y-4 sm:grid-cols-2">
        <Keys title="Everywhere" keys={SHORTCUTS} />
        <div className="flex flex-col gap-4">
          <Keys title="While writing" keys={COMPOSER_KEYS} />
          <Keys title="In the list of conversations" keys={IN_LIST} />
          <Keys title="In the list of memories" keys={IN_MEMORIES} />
        </div>
      </div>
    </Dialog>
  );
}

function Keys({ title, keys }: { title: string; keys: readonly { keys: readonly string[]; says: string }[] }) {
  return (
    <section>
      <h3 className="mb-1 font-medium text-sm text-soft">{title}</h3>
      <dl className="divide-y divide-line text-sm">
        {keys.map((one) => (
          <div key={one.says} className="flex items-center justify-between gap-4 py-1.5">
            <dt>{one.says}</dt>
            <dd>
              <Kbd keys={one.keys} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
