import { expect, test } from "vitest";
import type { RunView } from "../api/types.gen";
import { replaceRuns } from "./liveRuns";

const run = (id: string, status: string) => ({ id, status }) as RunView;

test("a changed run is replaced where it stands, and other pages stay the same", () => {
  const untouched = { items: [run("c", "Completed")], next: null };
  const pages = { pages: [{ items: [run("a", "Running"), run("b", "Queued")], next: "x" }, untouched], pageParams: [null, "x"] };
  const renewed = replaceRuns(pages, new Map([["b", run("b", "Running")]]));
  expect(renewed.pages[0]?.items.map((each) => each.status)).toEqual(["Running", "Running"]);
  expect(renewed.pages[1]).toBe(untouched);
});
