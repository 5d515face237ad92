import { expect, test } from "vitest";
import type { CurveView } from "../../api/types.gen";
import type { Columns } from "../curves";
import { csvOf, marksOf, movedRange, problemsOf, rangeWithoutOutliers, rankLines, stacked } from "./plotData";

const view = (part: Partial<CurveView>): CurveView => ({ run: "r", name: "n", total: 1, ...part });

test("values that are not finite have a place, in points and in buckets", () => {
  const buckets = { x: [0, 8], first: [], min: [], max: [], last: [], count: [4, 4], nan: [0, 1], inf: [0, 0] };
  expect(problemsOf([view({ x: [1, 2, 3], value: [1, null, 2] }), view({ buckets })])).toEqual([2, 8]);
});

test("attempts are marked where they begin", () => {
  expect(marksOf(view({ starts: [[2, 80]] }))).toEqual([{ x: 80, label: "attempt 2" }]);
  expect(marksOf(undefined)).toEqual([]);
});

test("one spike does not decide the range of y, unless it is all there is", () => {
  const xs = Array.from({ length: 200 }, (_, index) => index);
  const columns: Columns = [xs, xs.map((x) => (x === 50 ? 1e9 : x))];
  expect(rangeWithoutOutliers(columns)!.high).toBeLessThan(200);
  expect(rangeWithoutOutliers(columns, { low: 100, high: 199 })).toEqual({ low: 102, high: 197 });
  expect(rangeWithoutOutliers([[0, 1], [1, 9]])).toBeNull();
});

test("a few ranks are lines, many are a band around their mean", () => {
  const few = rankLines([[0], [1], [3]], [0, 1]);
  expect(few).toEqual({ columns: [[0], [1], [3]], labels: ["rank 0", "rank 1"], band: null });
  const ranks = Array.from({ length: 9 }, (_, rank) => rank);
  const many = rankLines([[0, 1], ...ranks.map((rank) => [rank, rank === 0 ? null : undefined])], ranks);
  expect(many.columns).toEqual([[0, 1], [4, undefined], [0, undefined], [8, undefined]]);
  expect(many.band).toEqual([3, 2]);
});

test("raw values stand behind smoothed ones", () => {
  expect(stacked([[0, 4], [1, 2]], [[0, 1, 4], [5, null, 6]])).toEqual([[0, 1, 4], [1, undefined, 2], [5, null, 6]]);
});

test("a range moves by its own width and widens around its middle", () => {
  expect(movedRange({ low: 10, high: 20 }, { pan: 0.5 })).toEqual({ low: 15, high: 25 });
  expect(movedRange({ low: 10, high: 20 }, { zoom: 2 })).toEqual({ low: 5, high: 25 });
});

test("points keep every digit in a spreadsheet", () => {
  expect(csvOf([[1.5, 0, 0.1 + 0.2], [2, null, { float: "NaN" }]])).toBe("step,time,value\r\n0,1.5,0.30000000000000004\r\n,2,NaN\r\n");
});
