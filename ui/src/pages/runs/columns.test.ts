import { expect, test } from "vitest";
import type { RunView } from "../../api/types.gen";
import { availableColumns, conditionsOf, defaultColumns, orderOf, textOf } from "./columns";

const RUN = { metrics: { loss: 0.25, note: "ok" }, parameters: { lr: "0.1" }, tags: { team: "a" } } as unknown as RunView;

test("columns are named as in the filter language", () => {
  expect(availableColumns([RUN])).toEqual(["metrics.loss", "metrics.note", "params.lr", "tags.team"]);
  expect(textOf(RUN, "metrics.loss")).toBe("0.25");
  expect(textOf(RUN, "metrics.missing")).toBe("");
});

test("tags are not shown unless they are chosen", () => {
  expect(defaultColumns(["metrics.loss", "params.lr", "tags.team"])).toEqual(["metrics.loss", "params.lr"]);
});

test("only metrics can be sorted", () => {
  expect([orderOf("metrics.loss"), orderOf("params.lr")]).toEqual(["metric:loss", null]);
});

test.each([
  ["metrics.loss < 1 and status == Completed", ["metrics.loss < 1", "status == Completed"]],
  ["params.name == 'a and b'", ["params.name == 'a and b'"]],
  ["(a < 1 and b < 2) and c < 3", ["(a < 1 and b < 2)", "c < 3"]],
  ["a < 1 or b < 2 and c < 3", ["a < 1 or b < 2 and c < 3"]],
  ["", []],
])("%s", (where, conditions) => expect(conditionsOf(where)).toEqual(conditions));
