import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import type { RunView } from "../../api/types.gen";
import { duration } from "../../data/format";
import { markOf, shortState, tookSeconds } from "../../data/runStates";
import { colorOf } from "../../parts/colors";
import { StateMark } from "../../parts/StateMark";
import { Time } from "../../parts/Time";
import { useNow } from "../../parts/useNow";
import { type ColumnName, orderOf, textOf, titleOf } from "./columns";

const ROW = 32;

interface Props {
  workspace: string;
  runs: RunView[];
  columns: ColumnName[];
  order: string;
  ascending: boolean;
  selected: string[];
  isStale: boolean;
  onSort: (order: string) => void;
  onSelect: (run: string, chosen: boolean) => void;
  onEnd: () => void;
}

/** Any number of runs: only the rows that are seen are in the document. */
export function RunsTable({ workspace, runs, columns, order, ascending, selected, isStale, onSort, onSelect, onEnd }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const now = useNow(5);
  const rows = useVirtualizer({
    count: runs.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 12,
  });
  const visible = rows.getVirtualItems();
  const last = visible.at(-1)?.index ?? 0;
  useEffect(() => {
    if (runs.length > 0 && last >= runs.length - 20) onEnd();
  }, [last, runs.length, onEnd]);
  const before = visible[0]?.start ?? 0;
  const after = rows.getTotalSize() - (visible.at(-1)?.end ?? 0);

  return (
    <div className={isStale ? "table stale" : "table"} ref={scroller}>
      <table aria-rowcount={runs.length}>
        <thead>
          <tr>
            <th aria-label="Selected" className="wide" />
            <th>Run</th>
            <th>State</th>
            {columns.map((column) => (
              <Heading key={column} column={column} order={order} ascending={ascending} onSort={onSort} />
            ))}
            <th className="num">Took</th>
            <th className="wide">By</th>
            <th className="num wide" aria-sort={order === "created" ? (ascending ? "ascending" : "descending") : "none"}>
              <button type="button" className="quiet" onClick={() => onSort("created")}>
                Created{order === "created" ? (ascending ? " ↑" : " ↓") : ""}
              </button>
            </th>
          </tr>
        </thead>
        <tbody>
          {before > 0 ? <tr style={{ height: before }} aria-hidden="true" /> : null}
          {visible.map(({ index }) => {
            const run = runs[index];
            if (!run) return null;
            const color = selected.indexOf(run.id);
            const took = tookSeconds(run, now);
            return (
              <tr key={run.id} className={color >= 0 ? "chosen" : undefined} aria-rowindex={index + 1}>
                <td className="wide">
                  <input
                    type="checkbox"
                    aria-label={`Show the curves of ${run.display_name || run.id}`}
                    checked={color >= 0}
                    onChange={(event) => onSelect(run.id, event.target.checked)}
                  />
                </td>
                <td>
                  {color >= 0 ? <span className="swatch" style={{ background: `var(${colorOf(color)})` }} /> : null}
                  <Link to="/w/$workspace/runs/$run" params={{ workspace, run: run.id }} title={run.id}>
                    {run.display_name || run.id}
                  </Link>
                </td>
                <td className="state" title={shortState(run)}>
                  <StateMark mark={markOf(run)} />
                  {shortState(run)}
                </td>
                {columns.map((column) => (
                  <td key={column} className="num wide">
                    {textOf(run, column)}
                  </td>
                ))}
                <td className="num">{took === null ? "" : duration(took)}</td>
                <td className="wide">{run.created_by}</td>
                <td className="num wide soft">
                  <Time time={run.created} />
                </td>
              </tr>
            );
          })}
          {after > 0 ? <tr style={{ height: after }} aria-hidden="true" /> : null}
        </tbody>
      </table>
    </div>
  );
}

interface HeadingProps {
  column: ColumnName;
  order: string;
  ascending: boolean;
  onSort: (order: string) => void;
}

function Heading({ column, order, ascending, onSort }: HeadingProps) {
  const own = orderOf(column);
  const isSorted = own !== null && own === order;
  return (
    <th className="num wide" title={column} aria-sort={isSorted ? (ascending ? "ascending" : "descending") : "none"}>
      {own === null ? (
        titleOf(column)
      ) : (
        <button type="button" className="quiet" onClick={() => onSort(own)}>
          {titleOf(column)}
          {isSorted ? (ascending ? " ↑" : " ↓") : ""}
        </button>
      )}
    </th>
  );
}
