/** The rows of the table: runs, and the children of those that are open. Pure. */
import type { RunView } from "../api/types.gen";

export interface Row {
  run: RunView;
  depth: number;
}

/** `childrenOf` returns what is loaded of a run's children. A run that is in the list itself is not repeated. */
export function rowsOf(runs: RunView[], open: string[], childrenOf: (run: string) => RunView[]): Row[] {
  if (open.length === 0) return runs.map((run) => ({ run, depth: 0 }));
  const opened = new Set(open);
  const rows: Row[] = [];
  const seen = new Set<string>();
  const add = (run: RunView, depth: number) => {
    if (seen.has(run.id)) return;
    seen.add(run.id);
    rows.push({ run, depth });
    if (opened.has(run.id)) for (const child of childrenOf(run.id)) add(child, depth + 1);
  };
  for (const run of runs) add(run, 0);
  return rows;
}

/** The smallest or the largest of the values that are numbers; none where there is nothing to compare. */
export function bestOf(values: unknown[], summary: "min" | "max"): number | null {
  const numbers = values.filter((value): value is number => typeof value === "number");
  if (numbers.length < 2) return null;
  return numbers.reduce((one, other) => (summary === "min" ? Math.min(one, other) : Math.max(one, other)));
}

/** Whether rows that were shown have other places now; rows that were added at the end are no change. */
export function isReordered(before: Row[], after: Row[]): boolean {
  return before.some((row, index) => row.run.id !== after[index]?.run.id);
}

/** The newest contents in the places of before, then the rows that follow the last of them. */
export function renewInPlace(before: Row[], after: Row[]): Row[] {
  const byId = new Map(after.map((row) => [row.run.id, row]));
  const end = before.at(-1)?.run.id;
  const shown = new Set(before.map((row) => row.run.id));
  const following = after.slice(after.findIndex((row) => row.run.id === end) + 1).filter((row) => !shown.has(row.run.id));
  return [...before.map((row) => byId.get(row.run.id) ?? row), ...following];
}
