import { expect, test } from "vitest";
import { spentWords } from "../src/state/spending";

const spent = { input_tokens: 1_200, output_tokens: 300, calls: 2, estimated: 0, cost: null };

test("what was spent is told in short and in full, and a cost only if there is one", () => {
  expect(spentWords(spent)).toEqual({ tokens: "1.5K", cost: null, details: "1,200 tokens read, 300 written" });
  const cost = { amount: 0.00123, currency: "USD", unpriced_tokens: 300 };
  expect(spentWords({ ...spent, estimated: 1, cost })).toEqual({
    tokens: "1.5K",
    cost: "$0.0012",
    details: "1,200 tokens read, 300 written, partly estimated, 300 without a price",
  });
});

test("a currency that nobody knows is told as it is written", () => {
  const cost = { amount: 2.5, currency: "credits", unpriced_tokens: 0 };
  expect(spentWords({ ...spent, cost })?.cost).toBe("2.50 credits");
});

test("a conversation that took nothing says nothing", () => {
  expect(spentWords({ ...spent, input_tokens: 0, output_tokens: 0 })).toBeNull();
});
