import { useEffect, useMemo, useState } from "react";
import { type ColumnName, moveColumn, orderOf, parseColumn, shiftColumn, startsAscending, widthOf } from "../../data/columns";
import type { Row } from "../../data/rows";
import { Heading } from "./Heading";
import { RunRows } from "./RunRows";
import type { RunsView } from "./useRunsView";

const CHECK = 34;
const FIXED = { name: 200, state: 230 };

interface Props {
  view: RunsView;
  rows: Row[];
  isStale: boolean;
  onToggle: (run: string, isRange: boolean) => void;
  onToggleAll: (() => void) | undefined;
  onOpen: (run: string) => void;
  onEnd: () => void;
}

/** Any number of runs: only the rows that are seen are in the document. */
export function RunsTable({ view, rows, isStale, onToggle, onToggleAll, onOpen, onEnd }: Props) {
  const { columns, widths, order, ascending, selection, change } = view;
  // A state and no ref: the rows must be drawn again once it is there.
  const [scroller, setScroller] = useState<HTMLDivElement | null>(null);
  const [dragged, setDragged] = useState<Record<string, number>>({});
  const width = (column: ColumnName) => dragged[column] ?? widths[column] ?? FIXED[column as keyof typeof FIXED] ?? widthOf(column, widths);
  const resize = (column: ColumnName, to: number) => setDragged((before) => ({ ...before, [column]: to }));
  useEffect(() => {
    if (Object.keys(dragged).length === 0) return;
    const timer = setTimeout(() => {
      change({ widths: { ...widths, ...dragged } });
      setDragged({});
    }, 300);
    return () => clearTimeout(timer);
  }, [dragged, widths, change]);

  // A narrow screen has room for one metric.
  const kept = columns.find((column) => column.startsWith("metrics."));
  const places = useMemo(() => new Map(selection.map((run, place) => [run, place])), [selection]);

  const set = (changed: ColumnName[]) => change({ columns: changed }, { isStep: true });
  const sort = (column: ColumnName, direction?: boolean) => {
    const own = column === "name" ? "name" : orderOf(column);
    if (own === null) return;
    const isSame = own === order;
    change({ order: own, ascending: direction ?? (isSame ? !ascending : startsAscending(column)) }, { isStep: true });
  };
  const heading = (column: ColumnName, own: string | null) => ({
    column,
    order: own,
    isSorted: own !== null && own === order,
    ascending,
    width: width(column),
    onSort: (direction?: boolean) => sort(column, direction),
    onWidth: (to: number) => resize(column, to),
  });
  const total = CHECK + width("name") + width("state") + columns.reduce((sum, column) => sum + width(column), 0);

  return (
    <div className={isStale ? "table stale" : "table"} ref={setScroller} data-scroll-restoration-id="runs">
        <table aria-rowcount={rows.length + 1} aria-label="Runs" aria-busy={isStale} style={{ "--total": `${total}px` } as React.CSSProperties}>
          <colgroup>
            <col className="wide" style={{ width: CHECK }} />
            <col className="first" style={{ width: width("name") }} />
            <col className="second" style={{ width: width("state") }} />
            {columns.map((column) => (
              <col key={column} className={column === kept ? "kept" : "wide"} style={{ width: width(column) }} />
            ))}
            <col className="wide" />
          </colgroup>
          <thead>
            <tr aria-rowindex={1}>
              <th className="wide check">
                <input
                  type="checkbox"
                  aria-label="Select all runs that are loaded"
                  disabled={!onToggleAll}
                  checked={selection.length > 0 && rows.length > 0 && rows.every(({ run }) => places.has(run.id))}
                  onChange={onToggleAll}
                />
              </th>
              <Heading {...heading("name", "name")} title="Run" />
              <Heading {...heading("state", null)} title="State" />
              {columns.map((column) => (
                <Heading
                  key={column}
                  {...heading(column, orderOf(column))}
                  isKept={column === kept}
                  onDrop={(moved) => set(moveColumn(columns, moved, column))}
                  onShift={(by) => set(shiftColumn(columns, column, by))}
                  onRemove={() => set(columns.filter((each) => each !== column))}
                  onReplace={(other) => set([...new Set(columns.map((each) => (each === column ? other : each)))])}
                  onGroup={["params", "tags"].includes(parseColumn(column).kind) ? () => change({ group: column, order: undefined }, { isStep: true }) : undefined}
                />
              ))}
              <td className="wide" aria-hidden="true" />
            </tr>
          </thead>
          <RunRows view={view} rows={rows} kept={kept} places={places} scroller={scroller} onToggle={onToggle} onOpen={onOpen} onEnd={onEnd} />
        </table>
    </div>
  );
}
