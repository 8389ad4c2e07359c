import type { Overview } from "../../api/types";
import { bytesInWords } from "../../state/overviewWords";
import { Card } from "./Card";
import { FactLine } from "./FactLine";

/** How much room it takes. */
export function Storage({ storage }: { storage: Overview["storage"] }) {
  return (
    <Card title="Storage">
      <dl className="text-sm">
        <FactLine name="Messages">
          {storage.message_bytes === null ? "Too many to measure" : bytesInWords(storage.message_bytes)}
        </FactLine>
        <FactLine name="Memories">{bytesInWords(storage.memory_bytes)}</FactLine>
        <FactLine name="Notes">{bytesInWords(storage.note_bytes)}</FactLine>
        {storage.database_bytes !== null && (
          <FactLine name="The whole database">{bytesInWords(storage.database_bytes)}</FactLine>
        )}
      </dl>
    </Card>
  );
}
