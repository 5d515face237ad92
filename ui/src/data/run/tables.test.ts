import { expect, test } from "vitest";
import { cellText, kindOf, parseCsv } from "./tables";

test("quotes hold separators, line ends and quotes", () => {
  const text = '\ufeffname,note\r\na,"x, ""y""\nz"\r\n\r\nb,\r\n';
  expect(parseCsv(text, 10)).toEqual({ columns: ["name", "note"], rows: [["a", 'x, "y"\nz'], ["b", ""]] });
});

test("the separator is found, the last line needs no end, and a limit holds", () => {
  expect(parseCsv("a;b\n1;2\n3;4\n5;6", 2)).toEqual({ columns: ["a", "b"], rows: [["1", "2"], ["3", "4"]] });
  expect(parseCsv("a\tb\n1\t2", 5).rows).toEqual([["1", "2"]]);
  expect(parseCsv("", 5)).toEqual({ columns: [], rows: [] });
});

test("cells of Parquet are text", () => {
  expect([12n, null, new Uint8Array(3), { a: [1n] }, 0.5].map(cellText)).toEqual(["12", "", "3 bytes", '{"a":["1"]}', "0.5"]);
});

test("what could run as a page is text", () => {
  expect(["a.html", "a.svg", "a.pdf", "Makefile"].map((path) => kindOf(path).kind)).toEqual(["text", "text", "text", "text"]);
  expect(kindOf("plots/A.PNG")).toEqual({ kind: "image", type: "image/png" });
});
