import { expect, test } from "vitest";
import { linesOf } from "./logLines";

const texts = (text: string, isCut = false) => linesOf(text, isCut).map((line) => line.text);

test("a progress bar is one line, with its last state", () => {
  expect(texts("10 %\r50 %\r100 %\ndone\n")).toEqual(["100 %", "done"]);
});

test("lines of Windows lose nothing", () => expect(texts("a\r\nb\r\n")).toEqual(["a", "b"]));

test("colours and hyperlinks are left out, their text stays", () => {
  expect(texts("\u001b[31mred\u001b[0m \u001b]8;;http://evil.example\u0007click\u001b]8;;\u0007")).toEqual(["red click"]);
});

test("a piece that begins inside a line begins with the next one", () => expect(texts("lf\nwhole", true)).toEqual(["whole"]));

test("errors are marked", () => {
  const lines = linesOf("step 1\nTraceback (most recent call last):\nValueError: no\n2026 ERROR x\nterror\n", false);
  expect(lines.map((line) => line.isError)).toEqual([false, true, true, true, false]);
});
