import { expect, test } from "vitest";
import { alonePoints } from "./plotOptions";

test("a single point between two gaps is seen, also where another curve has points", () => {
  expect(alonePoints([1, null, 5, null, 2, 3])).toEqual([0, 2]);
  expect(alonePoints([null, undefined, 7, undefined, null])).toEqual([2]);
  expect(alonePoints([1, undefined, 2])).toEqual([]);
});
