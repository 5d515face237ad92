import { useMemo } from "react";
import { spansOf } from "../../../data/run/ansi";
import { type Cell, cellsOf, type Output } from "../../../data/run/notebook";
import { Spans } from "../logs/Spans";
import { Markdown } from "../Markdown";

/** A Jupyter notebook: its text, code and outputs. Nothing of it runs. */
export function Notebook({ text }: { text: string }) {
  const cells = useMemo(() => cellsOf(text), [text]);
  if (!cells) return <pre>{text}</pre>;
  return (
    <div className="notebook">
      {cells.map((cell, index) => (
        // cells have no other identity
        <One key={index} cell={cell} />
      ))}
    </div>
  );
}

function One({ cell }: { cell: Cell }) {
  if (cell.kind === "markdown") return <Markdown text={cell.source} />;
  return (
    <div className="cell">
      <span className="faint">{cell.kind === "code" ? `[${cell.count ?? " "}]` : ""}</span>
      <pre className="recipe">{cell.source}</pre>
      {cell.outputs.map((output, index) => (
        <Shown key={index} output={output} />
      ))}
    </div>
  );
}

function Shown({ output }: { output: Output }) {
  if (output.kind === "image") return <img src={output.address} alt="Output" />;
  return (
    <pre className={output.kind === "error" ? "failed" : undefined}>
      <Spans spans={spansOf(output.text)} />
    </pre>
  );
}
