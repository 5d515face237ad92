import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo } from "react";
import { type ColumnName, parseColumn, valueOf } from "../../data/columns";
import { bestOf, type Row } from "../../data/rows";
import { IsScrolling } from "./IsScrolling";
import { RunRow } from "./RunRow";
import { useRowKeys } from "./useRowKeys";
import type { RunsView } from "./useRunsView";

const ROW = 32;
const HEAD = 30;
/** The curves of so many rows are read in one request. */
const BATCH = 25;
const NO_BATCH: string[] = [];
/** The next page is requested before its rows are seen. */
const AHEAD = 40;

interface Props {
  view: RunsView;
  rows: Row[];
  kept: ColumnName | undefined;
  places: Map<string, number>;
  scroller: HTMLDivElement | null;
  onToggle: (run: string, isRange: boolean) => void;
  onOpen: (run: string) => void;
  onEnd: () => void;
}

/** The rows that are seen. Only this part is drawn anew while the table scrolls. */
export function RunRows({ view, rows, kept, places, scroller, onToggle, onOpen, onEnd }: Props) {
  const { workspace, columns, open } = view;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller,
    estimateSize: () => ROW,
    overscan: 10,
    scrollPaddingStart: HEAD,
  });
  const visible = virtual.getVirtualItems();
  const last = visible.at(-1)?.index ?? 0;
  useEffect(() => {
    if (rows.length > 0 && last >= rows.length - AHEAD) onEnd();
  }, [last, rows.length, onEnd]);
  useRowKeys(scroller, virtual, rows.length);
  const best = useMemo(() => bestValues(rows, columns), [rows, columns]);
  const opened = useMemo(() => new Set(open), [open]);
  const batches = useMemo(() => {
    if (!columns.some((column) => parseColumn(column).summary === "curve")) return [];
    const all: string[][] = [];
    for (let at = 0; at < rows.length; at += BATCH) all.push(rows.slice(at, at + BATCH).map(({ run }) => run.id));
    return all;
  }, [rows, columns]);
  const before = visible[0]?.start ?? 0;
  const after = virtual.getTotalSize() - (visible.at(-1)?.end ?? 0);

  return (
    <IsScrolling value={virtual.isScrolling}>
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
    </IsScrolling>
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
