import { expect, test } from "vitest";
import { cellsOf } from "./notebook";

const notebook = (...cells: unknown[]) => JSON.stringify({ cells });

test("outputs are text, errors and pictures, never HTML", () => {
  const data = { "text/html": "<b>1</b>", "text/plain": ["1"] };
  const cell = {
    cell_type: "code", source: ["a\n", "b"], execution_count: 3,
    outputs: [{ output_type: "stream", text: ["x\n"] }, { output_type: "execute_result", data }, { output_type: "display_data", data: { "image/png": "iVB\nOR" } }, { output_type: "error", traceback: ["one", "two"] }, { output_type: "display_data", data: { "text/html": "<script>" } }],
  };
  expect(cellsOf(notebook(cell))).toEqual([
    { kind: "code", source: "a\nb", count: 3, outputs: [{ kind: "text", text: "x\n" }, { kind: "text", text: "1" }, { kind: "image", address: "data:image/png;base64,iVBOR" }, { kind: "error", text: "one\ntwo" }] },
  ]);
});

test("what is not a notebook is not one", () => expect([cellsOf("{}"), cellsOf("no")]).toEqual([null, null]));
