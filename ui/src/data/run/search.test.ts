import { expect, test } from "vitest";
import { momentText, parseMoment, parseRunSearch } from "./search";

test("an address keeps what it can and drops the rest", () => {
  const raw = { tab: "charts", axis: "sideways", low: 1, high: "x", log: true, find: 1, pinned: ["a", {}], file: "" };
  expect(parseRunSearch(raw)).toEqual({ tab: "charts", low: 1, log: true, find: "1", pinned: ["a"] });
});

test("the overview and the axis of steps are not written", () => {
  expect(parseRunSearch({ tab: "overview", axis: "step", outliers: false })).toEqual({});
});

test("a moment is an axis, a number and the name of a curve", () => {
  const moment = { axis: "step", x: 120, name: "a:b/c" } as const;
  expect(parseMoment(momentText(moment))).toEqual(moment);
  expect(parseMoment("relative:1.5:loss")).toEqual({ axis: "relative", x: 1.5, name: "loss" });
  expect(["step:1", "luck:1:a", "step:-e:a", undefined].map(parseMoment)).toEqual([null, null, null, null]);
});
