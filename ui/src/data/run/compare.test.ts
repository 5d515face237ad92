import { expect, test } from "vitest";
import type { Lock } from "../../api/types.gen";
import { differences, diffLines, packagesOf, sourceFiles, treeOf } from "./compare";

const lock = (content: Record<string, unknown>): Lock => ({ digest: "d", builder: "venv", content });

test("packages come from every kind of lock", () => {
  const content = { python: "3.11", packages: [{ name: "numpy", version: "2.0" }], requirements: "Typing_Extensions==4.1 ; x\n# no\nmine @ https://a/b.whl\n" };
  expect([...packagesOf(lock(content))]).toEqual([["(python)", "3.11"], ["numpy", "2.0"], ["typing-extensions", "4.1"], ["mine", "https://a/b.whl"]]);
});

test("only differences are listed", () => {
  const changes = differences(new Map([["a", "1"], ["b", "1"]]), new Map([["a", "1"], ["b", "2"], ["c", "3"]]));
  expect(changes).toEqual([{ name: "b", before: "1", after: "2" }, { name: "c", before: null, after: "3" }]);
});

test("a snapshot is a tree of its files", () => {
  const files = sourceFiles({ entries: [["a/b/c.py", "f", 420, 3, "d1"], ["a/b", "d", 493, 0, ""], ["t.py", "f", 420, 5, "d2"]] });
  expect(treeOf(files)).toEqual({ name: "", folders: [{ name: "a", folders: [{ name: "b", folders: [], files: [files[0]] }], files: [] }], files: [files[1]] });
});

test("lines of a diff say what they are", () => {
  expect(diffLines("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n z\n").map((line) => line.mark)).toEqual(["file", "file", "place", "removed", "added", "same"]);
});
