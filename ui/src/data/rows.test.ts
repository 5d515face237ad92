import { expect, test } from "vitest";
import type { RunView } from "../api/types.gen";
import { bestOf, isReordered, renewInPlace, rowsOf } from "./rows";

const run = (id: string) => ({ id }) as RunView;
const TREE: Record<string, RunView[]> = { sweep: [run("t1"), run("t2")], t1: [run("s1")] };
const childrenOf = (id: string) => TREE[id] ?? [];
const shown = (runs: RunView[], open: string[]) => rowsOf(runs, open, childrenOf).map((row) => `${row.depth}${row.run.id}`);

test("children stand below their open parent", () => {
  expect(shown([run("sweep"), run("b")], ["sweep"])).toEqual(["0sweep", "1t1", "1t2", "0b"]);
  expect(shown([run("sweep")], ["sweep", "t1"])).toEqual(["0sweep", "1t1", "2s1", "1t2"]);
});

test("children of a closed parent are hidden, however deep they are open", () => {
  expect(shown([run("sweep")], ["t1"])).toEqual(["0sweep"]);
});

test("a child that a filter also finds stands in one place", () => {
  expect(shown([run("sweep"), run("t2")], ["sweep"])).toEqual(["0sweep", "1t1", "1t2"]);
});

test("the best value is a number among others", () => {
  expect(bestOf([3, null, 1, { float: "NaN" }], "min")).toBe(1);
  expect(bestOf([3, 1, 7], "max")).toBe(7);
  expect(bestOf([3, null], "max")).toBeNull();
});

const flat = (...ids: string[]) => ids.map((id) => ({ run: run(id), depth: 0 }));
const ids = (rows: { run: RunView }[]) => rows.map((row) => row.run.id);

test("rows that are added at the end are no other order", () => {
  expect(isReordered(flat("a", "b"), flat("a", "b", "c"))).toBe(false);
  expect(isReordered(flat("a", "b"), flat("new", "a", "b"))).toBe(true);
});

test("rows keep their places, and later ones follow", () => {
  expect(ids(renewInPlace(flat("a", "b"), flat("new", "b", "a", "c")))).toEqual(["a", "b", "c"]);
  expect(ids(renewInPlace(flat("a", "gone"), flat("new", "a")))).toEqual(["a", "gone", "new"]);
});
