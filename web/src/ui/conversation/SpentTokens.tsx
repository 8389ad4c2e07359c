import { useQuery } from "@tanstack/react-query";
import type { UsageTotals } from "../../api/types";
import { useApp } from "../../app/AppContext";
import { spentWords } from "../../state/spending";

/** How many tokens the conversation took, and what they cost if the server knows prices. */
export function SpentTokens({ id, messages }: { id: string; messages: number }) {
  const { client } = useApp();
  const { data } = useQuery({
    // It is another figure after each turn.
    queryKey: ["usage", id, messages],
    queryFn: () => client.get<UsageTotals>("/api/usage", { query: { conversation_id: id } }),
    placeholderData: (before) => before,
  });
  const words = data && spentWords(data.total);
  if (!words) return null;
  const tokens = `${words.tokens} tokens`;
  return (
    <button
      type="button"
      aria-label={`${tokens}${words.cost ? ` · ${words.cost}` : ""}: ${words.details}`}
      data-tip={words.details}
      className="target shrink-0 rounded-control px-1.5 text-soft text-xs tabular-nums sm:px-2"
    >
      {tokens}
      {words.cost && <span className="hidden sm:inline"> · {words.cost}</span>}
    </button>
  );
}
