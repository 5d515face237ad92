import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";
import { type ColumnName, moveColumn, orderOf, parseColumn, shiftColumn, startsAscending, valueOf, widthOf } from "../../data/columns";
import { type Row, bestOf } from "../../data/rows";
import { Heading } from "./Heading";
import { IsScrolling } from "./IsScrolling";
import { RunRow } from "./RunRow";
import type { RunsView } from "./useRunsView";
import { useRowKeys } from "./useRowKeys";

const ROW = 32;
const HEAD = 30;
const CHECK = 34;
/** The curves of so many rows are read in one request. */
const BATCH = 25;
const NO_BATCH: string[] = [];
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
  const { workspace, columns, widths, order, ascending, selection, change } = view;
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 10,
    scrollPaddingStart: HEAD,
  });
  const visible = virtual.getVirtualItems();
  const last = visible.at(-1)?.index ?? 0;
  useEffect(() => {
    if (rows.length > 0 && last >= rows.length - 40) onEnd();
  }, [last, rows.length, onEnd]);
  useRowKeys(scroller, virtual, rows.length);

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
  const best = useMemo(() => bestValues(rows, columns), [rows, columns]);
  const opened = useMemo(() => new Set(view.open), [view.open]);
  const places = useMemo(() => new Map(selection.map((run, place) => [run, place])), [selection]);
  const batches = useMemo(() => {
    if (!columns.some((column) => parseColumn(column).summary === "curve")) return [];
    const all: string[][] = [];
    for (let at = 0; at < rows.length; at += BATCH) all.push(rows.slice(at, at + BATCH).map(({ run }) => run.id));
    return all;
  }, [rows, columns]);

  const set = (changed: ColumnName[]) => change({ columns: changed }, { isStep: true });
  const sort = (column: ColumnName, direction?: boolean) => {
    const own = column === "name" ? "name" : orderOf(column);
    if (own === null) return;
    const isSame = own === order;
    change({ order: own, ascending: direction ?? (isSame ? !ascending : startsAscending(column)) }, { isStep: true });
  };
  const before = visible[0]?.start ?? 0;
  const after = virtual.getTotalSize() - (visible.at(-1)?.end ?? 0);
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
    <div className={isStale ? "table stale" : "table"} ref={scroller} data-scroll-restoration-id="runs">
      <IsScrolling value={virtual.isScrolling}>
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
          <tbody>
            {before > 0 ? <tr style={{ height: before }} aria-hidden="true" /> : null}
            {visible.map(({ index }) => {
              const row = rows[index];
              return row ? (
                <RunRow
                  key={row.run.id}
                  workspace={workspace}
                  run={row.run}
                  index={index}
                  depth={row.depth}
                  isOpen={opened.has(row.run.id)}
                  columns={columns}
                  kept={kept}
                  place={places.get(row.run.id) ?? -1}
                  best={best}
                  batch={batches[Math.floor(index / BATCH)] ?? NO_BATCH}
                  onToggle={onToggle}
                  onOpen={onOpen}
                />
              ) : null;
            })}
            {after > 0 ? <tr style={{ height: after }} aria-hidden="true" /> : null}
          </tbody>
        </table>
      </IsScrolling>
    </div>
  );
}

/** The best loaded value of each column that says which is best. */
function bestValues(rows: Row[], columns: ColumnName[]): Map<ColumnName, number> {
  const best = new Map<ColumnName, number>();
  for (const column of columns) {
    const { summary } = parseColumn(column);
    if (summary !== "min" && summary !== "max") continue;
    const value = bestOf(rows.map(({ run }) => valueOf(run, column)), summary);
    if (value !== null) best.set(column, value);
  }
  return best;
}
