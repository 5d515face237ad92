import { Link } from "@tanstack/react-router";
import { memo, type MouseEvent, type ReactNode } from "react";
import type { RunView } from "../../api/types.gen";
import { type ColumnName, isNumeric, nameOf, parseColumn, textOf, valueOf } from "../../data/columns";
import { markOf, shortState } from "../../data/runStates";
import { colorOf } from "../../parts/colors";
import { StateMark } from "../../parts/StateMark";
import { Time } from "../../parts/Time";
import { Took } from "../../parts/Took";
import { Sparkline } from "./Sparkline";

interface Props {
  workspace: string;
  run: RunView;
  index: number;
  depth: number;
  isOpen: boolean;
  columns: ColumnName[];
  /** The column that a narrow screen has room for. */
  kept: ColumnName | undefined;
  /** The place in the selection, -1 outside of it. */
  place: number;
  /** The best value of each column that has one. */
  best: Map<ColumnName, number>;
  /** The names of runs whose curves are read together. */
  batch: string[];
  onToggle: (run: string, isRange: boolean) => void;
  onOpen: (run: string) => void;
}

/** One run. Nothing in it changes while the table scrolls, so that it is drawn once. */
export const RunRow = memo(function RunRow({ workspace, run, index, depth, isOpen, columns, kept, place, best, batch, onToggle, onOpen }: Props) {
  const name = nameOf(run);
  const isSelected = place >= 0;

  function clickRow(event: MouseEvent<HTMLTableRowElement>) {
    const isControl = event.target instanceof Element && event.target.closest("a, button, input");
    if (isControl || window.getSelection()?.type === "Range") return;
    onToggle(run.id, event.shiftKey);
  }

  return (
    <tr data-index={index} aria-rowindex={index + 2} className={isSelected ? "chosen" : undefined} onClick={clickRow}>
      <td className="wide check">
        <input
          type="checkbox"
          aria-label={`Select ${name}`}
          checked={isSelected}
          onClick={(event) => onToggle(run.id, event.shiftKey)}
          onChange={() => undefined}
        />
      </td>
      <td className="name" style={depth > 0 ? { paddingLeft: 10 + depth * 16 } : undefined}>
        {run.has_children ? (
          <button
            type="button"
            className="quiet opener"
            aria-expanded={isOpen}
            aria-label={`Children of ${name}`}
            onClick={() => onOpen(run.id)}
          >
            {isOpen ? "▾" : "▸"}
          </button>
        ) : null}
        {isSelected ? <span className="swatch" style={{ background: `var(${colorOf(place)})` }} /> : null}
        <Link to="/w/$workspace/runs/$run" params={{ workspace, run: run.id }} title={run.id} preload={false}>
          {name}
        </Link>
      </td>
      <td className="state" title={shortState(run)}>
        <StateMark mark={markOf(run)} />
        {shortState(run)}
      </td>
      {columns.map((column) => {
        const isBest = best.has(column) && best.get(column) === valueOf(run, column);
        const side = isNumeric(column) && parseColumn(column).summary !== "curve" ? "num" : "";
        return (
          <td key={column} className={`${side}${column === kept ? "" : " wide"}${isBest ? " best" : ""}`} title={titleFor(run, column)}>
            {contentOf(workspace, run, column, batch)}
          </td>
        );
      })}
      <td className="wide" aria-hidden="true" />
    </tr>
  );
});

function contentOf(workspace: string, run: RunView, column: ColumnName, batch: string[]): ReactNode {
  const { kind, name, summary } = parseColumn(column);
  if (summary === "curve") return <Sparkline workspace={workspace} run={run.id} name={name} batch={batch} />;
  if (kind === "duration") return <Took run={run} />;
  if (kind === "created" || kind === "started" || kind === "ended") {
    const time = run[kind];
    return time == null ? "" : <Time time={time} />;
  }
  return textOf(run, column);
}

/** The whole value on hover, where it is text or was rounded; times have their own. */
function titleFor(run: RunView, column: ColumnName): string | undefined {
  const value = valueOf(run, column);
  const { kind } = parseColumn(column);
  if (["created", "started", "ended", "duration"].includes(kind)) return undefined;
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}
