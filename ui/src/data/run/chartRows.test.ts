import { expect, test } from "vitest";
import { chartRows, matching, toggled } from "./chartRows";

const names = ["loss", "train/acc", "val/acc", "train/loss", "train/f1"];

test("groups by prefix, with pinned charts first", () => {
  const rows = chartRows(names, { pinned: ["val/acc", "gone"] }, 2);
  const text = rows.map((row) => (row.kind === "group" ? `${row.title} ${row.count}` : row.names));
  expect(text).toEqual(["Pinned 1", ["val/acc"], "Other metrics 1", ["loss"], "train 3", ["train/acc", "train/loss"], ["train/f1"]]);
});

test("a closed group has no charts, a single group has no title", () => {
  expect(chartRows(names, { closed: ["train"], find: "train" }, 2).every((row) => row.kind === "charts")).toBe(true);
  const rows = chartRows(names, { closed: ["train"] }, 2);
  expect(rows.find((row) => row.id === "group train")).toMatchObject({ isOpen: false, count: 3 });
  expect(rows.flatMap((row) => (row.kind === "charts" ? row.names : []))).toEqual(["loss", "val/acc"]);
});

test("all words must be in a name", () => expect(matching(names, "TRAIN l")).toEqual(["train/loss"]));

test("ids are unique among thousands of charts", () => {
  const many = Array.from({ length: 5000 }, (_, index) => `g${index % 40}/m${index}`);
  const rows = chartRows(many, {}, 3);
  expect(new Set(rows.map((row) => row.id)).size).toBe(rows.length);
});

test("toggling twice leaves nothing", () => {
  expect(toggled(undefined, "a")).toEqual(["a"]);
  expect(toggled(["a"], "a")).toBeUndefined();
  expect(toggled(["a", "b"], "a")).toEqual(["b"]);
});
