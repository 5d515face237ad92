import { expect, test } from "vitest";
import type { CurveView } from "../api/types.gen";
import { columnsOf, smooth } from "./curves";

const curve = (x: number[], value: (number | null)[]): CurveView => ({ run: "r", name: "n", total: x.length, x, value });

test("curves with different x share one column, with gaps", () => {
  expect(columnsOf({ width: null }, [curve([0, 2], [1, 3]), curve([1, 2], [5, null])])).toEqual([
    [0, 1, 2],
    [1, undefined, 3],
    [undefined, 5, null],
  ]);
});

test("a bucket is drawn by its first, smallest, largest and last value", () => {
  const buckets = { x: [8], first: [1], min: [0], max: [9], last: [2], count: [4], nan: [0], inf: [0] };
  expect(columnsOf({ width: 4 }, [{ run: "r", name: "n", total: 4, buckets }])).toEqual([
    [8, 9, 10, 11],
    [1, 0, 9, 2],
  ]);
});

test("smoothing begins at the first value and keeps gaps", () => {
  expect(smooth([4, null, 4], 0.9)).toEqual([4, null, expect.closeTo(4)]);
});
