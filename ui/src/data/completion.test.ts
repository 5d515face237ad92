import { expect, test } from "vitest";
import { contextOf, hasValues, optionsOf } from "./completion";

const complete = (text: string, fetched: string[] = []) => optionsOf(text, contextOf(text), fetched).map((option) => option.text);

test.each([
  ["", "field"],
  ["st", "field"],
  ["metrics.loss < 1 and ", "field"],
  ["not (", "field"],
  ["status ", "operator"],
  ["min(metrics.loss) ", "operator"],
  ['tags."a b" ', "operator"],
  ["status == Failed ", "conjunction"],
  ["params.lr == 0.1 an", "conjunction"],
  ["a == 'x y' ", "conjunction"],
])("%s expects a %s", (text, expects) => expect(contextOf(text).expects).toBe(expects));

test("names are completed behind the dot", () => {
  expect(contextOf("status == Failed and metrics.val/l")).toMatchObject({ expects: "name", kind: "metrics", prefix: "val/l" });
  expect(complete("x < 1 and params.l", ["lr", "layer size"])).toEqual(["x < 1 and params.lr ", 'x < 1 and params."layer size" ']);
});

test("values are completed behind the operator", () => {
  expect(contextOf('tags.model == "la')).toMatchObject({ expects: "value", field: "tags.model", prefix: "la" });
  expect(complete("tags.model == l", ["large", "large one"])).toEqual(["tags.model == large ", 'tags.model == "large one" ']);
  expect(complete('tags.model == "large o', ["large one"])).toEqual(['tags.model == "large one" ']);
  expect(complete("status == Com")).toEqual(["status == Completed "]);
  expect(complete("created > ")).toContain('created > "7d ago" ');
});

test("a field begins a condition", () => expect(complete("sta")).toEqual(["status ", "started "]));

test("only some fields have values that the server counts", () => {
  expect(["params.lr", "by", "metrics.loss", "created"].map(hasValues)).toEqual([true, true, false, false]);
});
