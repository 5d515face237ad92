import { describe, expect, test } from "vitest";
import { ago, bytes, counted, duration, metric, number } from "./format";

describe("numbers", () => {
  test.each([
    [0.123456, "0.1235"],
    [12345, "12,345"],
    [0.00001234, "1.23e-5"],
    [0, "0"],
    [-3.5, "-3.5"],
  ])("%d is %s", (value, text) => expect(number(value)).toBe(text));

  test("values that JSON cannot hold have their names", () => expect(metric({ float: "NaN" })).toBe("NaN"));
  test("a missing value is empty", () => expect(metric(undefined)).toBe(""));
});

describe("times", () => {
  test.each([
    [0.25, "250 ms"],
    [9.94, "9.9 s"],
    [61, "1 min 1 s"],
    [7260, "2 h 1 min"],
    [200_000, "2 d 7 h"],
  ])("%d seconds are %s", (seconds, text) => expect(duration(seconds)).toBe(text));

  test("the future is now, because clocks differ", () => expect(ago(110, 100)).toBe("just now"));
  test("two hours ago", () => expect(ago(0, 7300)).toBe("2 h ago"));
});

test.each([
  [999, "999 B"],
  [1500, "1.5 kB"],
  [123_456_789, "123 MB"],
])("%d bytes are %s", (size, text) => expect(bytes(size)).toBe(text));

test("one run, two runs", () => expect([counted(1, "run"), counted(2000, "run")]).toEqual(["1 run", "2,000 runs"]));
