import { expect, test } from "vitest";
import type { CurveView } from "../api/types.gen";
import { sparkPath } from "./sparkline";

const BOX = { width: 100, height: 12 };
const curve = (value: (number | null)[]): CurveView => ({ run: "r", name: "n", total: value.length, x: value.map((_, index) => index), value });

test("a curve fills its box", () => expect(sparkPath(null, curve([0, 1, 0.5]), BOX)).toBe("M0.0,11.0L50.0,1.0L100.0,6.0"));
test("gaps break the line", () => expect(sparkPath(null, curve([0, null, 1]), BOX)).toBe("M0.0,11.0M100.0,1.0"));
test("a single value is a dash in the middle", () => expect(sparkPath(null, curve([3]), BOX)).toBe("M50.0,6.0h2"));
test("a curve without numbers has no path", () => expect(sparkPath(null, curve([null]), BOX)).toBe(""));

test("a bucket that falls goes from its largest to its smallest value", () => {
  const buckets = { x: [0], first: [9], min: [1], max: [11], last: [2], count: [5], nan: [0], inf: [0] };
  expect(sparkPath(4, { run: "r", name: "n", total: 5, buckets }, BOX)).toBe("M0.0,3.0L33.3,1.0L66.7,11.0L100.0,10.0");
});
