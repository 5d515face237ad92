import { expect, test } from "vitest";
import { matchingNames } from "./matching";

test("all words must occur, and beginnings come first", () => {
  const names = ["metrics.val/loss", "metrics.loss", "params.lr", "tags.loss note"];
  expect(matchingNames(names, "loss", 10)).toEqual({ shown: ["metrics.loss", "tags.loss note", "metrics.val/loss"], more: 0 });
  expect(matchingNames(names, "VAL loss", 10).shown).toEqual(["metrics.val/loss"]);
  expect(matchingNames(names, "", 3)).toEqual({ shown: names.slice(0, 3), more: 1 });
});

test("more names than are shown are counted", () => {
  const names = Array.from({ length: 12_000 }, (_, index) => `metrics.layer${index}/grad`);
  expect(matchingNames(names, "11999", 100).shown).toEqual(["metrics.layer11999/grad"]);
  expect(matchingNames(names, "grad", 100).more).toBe(11_900);
});
