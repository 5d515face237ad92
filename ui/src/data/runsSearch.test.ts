import { expect, test } from "vitest";
import { isSameView, readRunsSearch, savedPart } from "./runsSearch";

test("an address that somebody mangled is a valid view", () => {
  const mangled = { where: 5, columns: "x", widths: [1], selected: [1, "a"], smoothing: 7, axis: "pixels", other: 1, order: "" };
  expect(readRunsSearch(mangled)).toEqual({ where: "5", selected: ["a"], smoothing: 0.99 });
});

test("a whole view is read as it was written", () => {
  const view = { where: "a < 1", order: "metrics.loss", ascending: true, columns: ["by"], widths: { by: 90 }, group: "params.lr", open: ["r"], axis: "time" };
  expect(readRunsSearch(view)).toEqual(view);
});

test("a width in an address has limits", () => expect(readRunsSearch({ widths: { by: 1e9 } })).toEqual({ widths: { by: 800 } }));

test("a saved view holds what is shown, not what is selected", () => {
  expect(savedPart({ where: "a < 1", selected: ["r"], open: ["s"] })).toEqual({ where: "a < 1" });
  expect(isSameView({ where: "a", group: "params.lr", selected: ["r"] }, { group: "params.lr", where: "a" })).toBe(true);
  expect(isSameView({ where: "a" }, { where: "b" })).toBe(false);
});
