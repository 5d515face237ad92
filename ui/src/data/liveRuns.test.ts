import { expect, test } from "vitest";
import type { RunView } from "../api/types.gen";
import { prependRuns, replaceRuns } from "./liveRuns";

const run = (id: string, status = "Running") => ({ id, status }) as RunView;
const pages = () => ({ pages: [{ items: [run("a"), run("b")], next: "c" }, { items: [run("c")], next: null }], pageParams: [null, "c"] });

test("a changed run is replaced where it stands, and other pages stay the same", () => {
  const before = pages();
  const after = replaceRuns(before, [run("b", "Completed")]);
  expect(after.pages[0]?.items.map((each) => each.status)).toEqual(["Running", "Completed"]);
  expect(after.pages[1]).toBe(before.pages[1]);
});

test("new runs stand first, and nothing is shown twice", () => {
  const after = prependRuns(pages(), [run("new"), run("a"), run("c")]);
  expect(after.pages.flatMap((page) => page.items.map((each) => each.id))).toEqual(["new", "a", "b", "c"]);
});
