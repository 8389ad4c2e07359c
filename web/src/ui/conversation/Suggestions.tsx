import type { Message } from "../../api/types";
import { useApp } from "../../app/AppContext";
import { suggestionsOf } from "../../state/suggestions";
import { Chip } from "../parts/Chip";

/** What the assistant suggests: values go into the composer to be changed, actions are said at once. */
export function Suggestions({ message }: { message: Message }) {
  const { conversation, drafts, layout } = useApp();
  const values = suggestionsOf(message.suggested_values);
  const actions = suggestionsOf(message.suggested_actions);
  if (!values.length && !actions.length) return null;
  const { id, isTemporary } = conversation.store.getState();
  return (
    <fieldset aria-label="Suggestions" className="mt-3 flex min-w-0 flex-wrap gap-2">
      {values.map((one) => (
        <Chip
          key={`value ${one.text}`}
          onClick={() => {
            drafts.set(id, one.text, isTemporary);
            layout.ask("composer");
          }}
        >
          {one.label}
        </Chip>
      ))}
      {actions.map((one) => (
        <Chip key={`action ${one.text}`} look="accent" onClick={() => void conversation.send(one.text)}>
          {one.label}
        </Chip>
      ))}
    </fieldset>
  );
}
