import { expect, test } from "vitest";
import { between, deselect, MOST_SELECTED, select, selectedRuns } from "./selection";

test("a run keeps its colour when an earlier one leaves the selection", () => {
  const selection = deselect(["a", "b", "c"], ["b"]);
  expect(selection).toEqual(["a", "", "c"]);
  expect(selectedRuns(selection)).toEqual(["a", "c"]);
  expect(select(selection, ["d", "e"])).toEqual(["a", "d", "c", "e"]);
});

test("an empty selection has no places", () => expect(deselect(["a", "b"], ["a", "b"])).toEqual([]));

test("a run is selected once", () => expect(select(["a"], ["a"])).toEqual(["a"]));

test("a selection fits into an address", () => {
  const many = Array.from({ length: MOST_SELECTED + 5 }, (_, index) => `run-${index}`);
  expect(select([], many)).toHaveLength(MOST_SELECTED);
});

test("a range goes in either direction", () => {
  expect(between(["a", "b", "c", "d"], "c", "a")).toEqual(["a", "b", "c"]);
  expect(between(["a", "b", "c", "d"], "b", "d")).toEqual(["b", "c", "d"]);
  expect(between(["a", "b"], "gone", "b")).toEqual(["b"]);
});
