import { expect, test } from "vitest";
import { findQuote } from "../src/state/quotes";

const found = (text: string, quote: string) => findQuote(text, quote).map(({ from, to }) => text.slice(from, to));

test("a quote is found as it stands", () => {
  expect(found("My cat Miso lives in Bergen.", "Miso lives")).toEqual(["Miso lives"]);
  expect(found("nothing of it", "elsewhere")).toEqual([]);
  expect(found("anything", "  ")).toEqual([]);
});

test("neither case, line breaks nor the marks of Markdown count", () => {
  expect(found("I moved to\n  Bergen in May", "moved to bergen")).toEqual(["moved to\n  Bergen"]);
  expect(found("The blue door is locked", "The **blue** `door`")).toEqual(["The blue door"]);
  expect(found("the **blue** door", "blue door")).toEqual(["blue** door"]);
});

test("words that do not stand together are found one by one", () => {
  expect(found("Bergen has rain; rain has Bergen", "rain Bergen x")).toEqual(["rain", "rain", "Bergen", "Bergen"]);
});

test("a letter that grows when it is small moves nothing", () => {
  expect(found("İİİ Miso sleeps", "miso")).toEqual(["Miso"]);
});
