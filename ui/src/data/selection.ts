/**
 * The selected runs, in the order of their colours. An empty place is free: a run keeps its colour when an earlier one
 * leaves the selection. Pure.
 */
export type Selection = string[];

/** More would not fit into an address. */
export const MOST_SELECTED = 300;

export function selectedRuns(selection: Selection): string[] {
  return selection.filter(Boolean);
}

export function select(selection: Selection, runs: string[]): Selection {
  const places = [...selection];
  for (const run of runs) {
    if (places.includes(run)) continue;
    const free = places.indexOf("");
    if (free >= 0) places[free] = run;
    else if (places.length < MOST_SELECTED) places.push(run);
  }
  return places;
}

export function deselect(selection: Selection, runs: string[]): Selection {
  const places = selection.map((run) => (runs.includes(run) ? "" : run));
  while (places.at(-1) === "") places.pop();
  return places;
}

/** The runs from one row to another, in either direction. */
export function between(rows: string[], from: string, to: string): string[] {
  const [start, end] = [rows.indexOf(from), rows.indexOf(to)];
  if (start < 0 || end < 0) return [to];
  return rows.slice(Math.min(start, end), Math.max(start, end) + 1);
}
