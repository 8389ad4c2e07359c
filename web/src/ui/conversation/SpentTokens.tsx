import { useQuery } from "@tanstack/react-query";
import type { UsageTotals } from "../../api/types";
import { useApp } from "../../app/AppContext";

const SHORT = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
const WHOLE = new Intl.NumberFormat();

/** How many tokens the conversation took; the server counts tokens and knows no prices. */
export function SpentTokens({ id, messages }: { id: string; messages: number }) {
  const { client } = useApp();
  const { data } = useQuery({
    // It is another figure after each turn.
    queryKey: ["usage", id, messages],
    queryFn: () => client.get<UsageTotals>("/api/usage", { query: { conversation_id: id } }),
    placeholderData: (before) => before,
  });
  const spent = data?.total;
  const all = spent ? spent.input_tokens + spent.output_tokens : 0;
  if (!spent || all === 0) return null;
  const short = `${SHORT.format(all)} tokens`;
  const estimated = spent.estimated > 0 ? ", partly estimated" : "";
  const details = `${WHOLE.format(spent.input_tokens)} tokens read, ${WHOLE.format(spent.output_tokens)} written${estimated}`;
  return (
    <button
      type="button"
      aria-label={`${short}: ${details}`}
      data-tip={details}
      className="target hidden rounded-control px-2 text-soft text-xs tabular-nums sm:block"
    >
      {short}
    </button>
  );
}
