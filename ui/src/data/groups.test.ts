import { expect, test } from "vitest";
import type { RunGroup } from "../api/types.gen";
import { partText, sortGroups } from "./groups";

const group = (value: string | null, runs: number, mean: number | null): RunGroup => ({
  value,
  runs,
  newest: 0,
  metrics: mean === null ? {} : { loss: { runs, min: mean, mean, max: mean } },
});
const GROUPS = [group("0.1", 3, 0.5), group(null, 9, null), group("0.02", 1, 0.25), group("1e-3", 2, 0.75)];
const values = (order: string, ascending: boolean) => sortGroups(GROUPS, order, ascending).map((each) => each.value);

test("values are sorted as numbers, and runs without one are last", () => {
  expect(values("value", true)).toEqual(["1e-3", "0.02", "0.1", null]);
  expect(values("value", false)).toEqual(["0.1", "0.02", "1e-3", null]);
});

test("groups are sorted by a metric or by their size", () => {
  expect(values("mean(metrics.loss)", true)).toEqual(["0.02", "0.1", "1e-3", null]);
  expect(values("runs", false)).toEqual([null, "0.1", "1e-3", "0.02"]);
});

test("a missing mean is empty", () => expect(partText(GROUPS[1] as RunGroup, "loss", "mean")).toBe(""));
