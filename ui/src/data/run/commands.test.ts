import { expect, test } from "vitest";
import type { RunSpecOutput, RunView } from "../../api/types.gen";
import { commandLine, newRunId, recipesOf, specAgain, wordsOf } from "./commands";

test.each([["--lr", "0.1"], ["a b", "it's", '"', "\\", ""], ["$HOME", "*", "ä"]])("what is quoted is read again: %s %s", (...words) => {
  expect(wordsOf(commandLine(words))).toEqual(words);
});

test("quotes and backslashes are those of a shell", () => {
  expect(wordsOf(`  --name "two words" 'a\\b' c\\ d "x\\"y" ""`)).toEqual(["--name", "two words", "a\\b", "c d", 'x"y', ""]);
  expect(() => wordsOf("--name 'open")).toThrow("is not closed");
  expect(wordsOf(" ")).toEqual([]);
});

const spec = { experiment: "e", program: { script: "t.py", arguments: ["--lr", "1"] }, definition: { arguments: ["--lr", "1"] }, properties: { a: "b" }, tags: { x: "y" }, parent: "p" } as RunSpecOutput;
const run = { id: "e_1", lock: "abc", spec } as RunView & { spec: RunSpecOutput };

test("a rerun keeps the environment and names the original, without its tags", () => {
  expect(specAgain(run, ["--lr", "2"])).toMatchObject({
    lock: "abc", parent: null, tags: {}, properties: { a: "b", "footplate.rerun_of": "e_1" }, program: { script: "t.py", arguments: ["--lr", "2"] }, definition: { arguments: ["--lr", "2"] },
  });
});

test("a command is rerun as it is", () => {
  const command = { ...run, spec: { ...spec, program: { command: "make", arguments: [] } } };
  expect(specAgain(command, ["x"]).program).toEqual({ command: "make", arguments: [] });
  expect(recipesOf(command)[1]?.text).toBe("footplate runs rerun e_1");
});

test("the command line and Python do the same", () => {
  const texts = recipesOf(run).map((recipe) => recipe.text);
  expect(texts[1]).toBe("footplate runs rerun e_1 -- --lr 1");
  expect(texts[3]).toContain('run.rerun(arguments=["--lr", "1"])');
});

test("ids are those of the command line", () => expect(newRunId("e", 12.9, new Uint8Array([0, 255, 1, 16]))).toBe("e_12_00ff0110"));
