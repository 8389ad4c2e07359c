import type { UsageTotals } from "../api/types";

const SHORT = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
const WHOLE = new Intl.NumberFormat();

/** Say what models took, in short and in full; null if they took nothing. */
export function spentWords(
  spent: UsageTotals["total"],
): { tokens: string; cost: string | null; details: string } | null {
  const all = spent.input_tokens + spent.output_tokens;
  if (all === 0) return null;
  const details = [`${WHOLE.format(spent.input_tokens)} tokens read, ${WHOLE.format(spent.output_tokens)} written`];
  if (spent.estimated > 0) details.push("partly estimated");
  if (spent.cost?.unpriced_tokens) details.push(`${WHOLE.format(spent.cost.unpriced_tokens)} without a price`);
  return { tokens: SHORT.format(all), cost: spent.cost && money(spent.cost), details: details.join(", ") };
}

function money({ amount, currency }: { amount: number; currency: string }): string {
  // A turn costs a fraction of a cent, and that is what one wants to see.
  const digits = amount >= 1 ? 2 : 4;
  try {
    return new Intl.NumberFormat(undefined, { style: "currency", currency, maximumFractionDigits: digits }).format(
      amount,
    );
  } catch {
    return `${amount.toFixed(digits)} ${currency}`;
  }
}
