import { expect, test } from "vitest";
import { conditionsOf, equals, fieldOf, withCondition, withoutCondition } from "./filterText";

test.each([
  ["metrics.loss < 1 and status == Completed", ["metrics.loss < 1", "status == Completed"]],
  ["params.name == 'a and b'", ["params.name == 'a and b'"]],
  ["params.name == 'it\\'s and b' and x < 1", ["params.name == 'it\\'s and b'", "x < 1"]],
  ["(a < 1 and b < 2) and c < 3", ["(a < 1 and b < 2)", "c < 3"]],
  ["a < 1 or b < 2 and c < 3", ["a < 1 or b < 2 and c < 3"]],
  ["(a < 1 or b < 2) AND c<3&&d<4", ["(a < 1 or b < 2)", "c<3", "d<4"]],
  ["tags.or == 1 and orange < 2", ["tags.or == 1", "orange < 2"]],
  ["", []],
])("%s", (where, conditions) => expect(conditionsOf(where)).toEqual(conditions));

test("alternatives keep their meaning beside another condition", () => {
  expect(withCondition("a < 1 or b < 2", "c < 3")).toBe("(a < 1 or b < 2) and c < 3");
  expect(withCondition("c < 3", "a < 1 or b < 2")).toBe("c < 3 and (a < 1 or b < 2)");
  expect(withCondition("(a < 1) or (b < 2)", "c < 3")).toBe("((a < 1) or (b < 2)) and c < 3");
  expect(withCondition("", " c < 3 ")).toBe("c < 3");
});

test("one of two equal conditions can be removed", () => {
  expect(withoutCondition("a < 1 and a < 1", 0)).toBe("a < 1");
  expect(withoutCondition("a < 1", 0)).toBe("");
});

test("names and values are quoted where the language needs it", () => {
  expect([fieldOf("params", "lr"), fieldOf("metrics", "val/loss"), fieldOf("tags", 'a "b"')]).toEqual([
    "params.lr",
    "metrics.val/loss",
    'tags."a \\"b\\""',
  ]);
  expect(equals("params", "lr", "0.1")).toBe('params.lr == "0.1"');
  expect(equals("tags", "team", null)).toBe("not tags.team");
});
