import { expect, test } from "vitest";
import { plainText, spansOf } from "./ansi";

test("colours become styles", () => {
  expect(spansOf("a \u001b[1;31mred\u001b[0m b")).toEqual([{ text: "a ", style: "" }, { text: "red", style: "ansi-1 bold" }, { text: " b", style: "" }]);
  expect(spansOf("\u001b[38;5;2mg\u001b[38;2;1;2;3mt\u001b[92mh").map((span) => span.style)).toEqual(["ansi-2", "", "ansi-2"]);
});

test.each([
  ["\u001b]8;;http://evil.example\u0007click\u001b]8;;\u0007", "click"],
  ["\u001b]8;;http://evil.example\u001b\\click\u001b]8;;\u001b\\", "click"],
  ["\u001b]0;title without an end", ""],
  ["\u001b[2J\u001b[10;10Hmoved\u001b[?25l", "moved"],
  ["\u001bPdevice\u001b\\x\u001bc\u0000\u0007y\u009b", "xy"],
  ["a\tb", "a\tb"],
  ["user\u202etxt.exe", "usertxt.exe"],
])("nothing that a terminal would obey stays: %j", (text, shown) => expect(plainText(text)).toBe(shown));
