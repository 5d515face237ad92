import { expect, test } from "vitest";
import type { RunView } from "../api/types.gen";
import { clampWidth, defaultColumns, isNumeric, metricsOf, moveColumn, nameOf, namesOf, orderOf, parseColumn, shiftColumn, textOf, titleOf } from "./columns";

const RUN = {
  ranges: { loss: [0.125, 2] },
  metrics: { loss: 0.25, "val/loss": 1 },
  parameters: { lr: "0.1" },
  tags: { team: "a", kept: null },
  created_by: "ana",
  experiment: "mnist",
} as unknown as RunView;

test("columns are named as in the filter language", () => {
  const columns = ["metrics.loss", "metrics.val/loss", "params.lr", "tags.team", "tags.kept", "by", "experiment", "metrics.no"];
  expect(columns.map((column) => textOf(RUN, column))).toEqual(["0.25", "1", "0.1", "a", "✓", "ana", "mnist", ""]);
});

test("extremes of a metric are columns of their own", () => {
  expect(["min(metrics.loss)", "max(metrics.loss)", "min(metrics.no)"].map((column) => textOf(RUN, column))).toEqual(["0.125", "2", ""]);
});

test("every column with values can be sorted by", () => {
  const columns = ["metrics.loss", "min(metrics.val loss)", "params.lr", "tags.team", "created", "curve(metrics.loss)"];
  expect(columns.map(orderOf)).toEqual(["metrics.loss", 'min(metrics."val loss")', "params.lr", "tags.team", "created", null]);
});

test("telling metrics come first where nobody has chosen", () => {
  const columns = defaultColumns({ metrics: ["epoch", "grad", "val_acc", "val_loss"], params: [] });
  expect(columns.slice(1, 3)).toEqual(["metrics.val_loss", "metrics.val_acc"]);
});

test.each([
  ["metrics.a.b", { kind: "metrics", name: "a.b", summary: "last" }],
  ["min(metrics.f(x))", { kind: "metrics", name: "f(x)", summary: "min" }],
  ["curve(metrics.loss)", { kind: "metrics", name: "loss", summary: "curve" }],
  ["created", { kind: "created", name: "", summary: "last" }],
])("%s", (column, parsed) => expect(parseColumn(column)).toEqual(parsed));

test("titles say which value of a metric a column shows", () => {
  expect(["metrics.loss", "min(metrics.loss)", "duration"].map(titleOf)).toEqual(["loss", "loss min", "Took"]);
});

test("a table that nobody arranged has a curve, two metrics and two parameters", () => {
  const columns = defaultColumns({ metrics: ["a", "b", "c", "d"], params: ["lr"] });
  expect(columns.slice(0, 5)).toEqual(["curve(metrics.a)", "metrics.a", "metrics.b", "params.lr", "duration"]);
});

test("only metrics that have values in the table are requested with it", () => {
  const columns = ["curve(metrics.a)", "metrics.b", "max(metrics.b)", "params.lr"];
  expect(metricsOf(columns)).toEqual(["b"]);
  expect(namesOf(columns)).toEqual(["a", "b"]);
});

test("columns move by dragging and by keys", () => {
  expect(moveColumn(["a", "b", "c"], "a", "c")).toEqual(["b", "c", "a"]);
  expect(moveColumn(["a", "b", "c"], "c", "a")).toEqual(["c", "a", "b"]);
  expect(moveColumn(["a", "b"], "a", "gone")).toEqual(["a", "b"]);
  expect(shiftColumn(["a", "b", "c"], "b", 1)).toEqual(["a", "c", "b"]);
  expect(shiftColumn(["a", "b", "c"], "a", -1)).toEqual(["a", "b", "c"]);
});

test("widths have limits, and numbers stand on the right", () => {
  expect([clampWidth(3), clampWidth(120.4), clampWidth(9999)]).toEqual([48, 120, 800]);
  expect([isNumeric("params.lr"), isNumeric("tags.team"), isNumeric("duration")]).toEqual([true, false, true]);
});

test("a run has the name that people gave it", () => {
  expect(nameOf({ display_name: "mine", name: "child", id: "r" })).toBe("mine");
  expect(nameOf({ display_name: null, name: "child", id: "r" })).toBe("child");
  expect(nameOf({ display_name: null, name: null, id: "r" })).toBe("r");
});
