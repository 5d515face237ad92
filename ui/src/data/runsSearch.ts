/** The view of the table of runs, as its address holds it. Whatever an address contains becomes a valid view. Pure. */
import { clampWidth, type ColumnName } from "./columns";
import { MOST_SELECTED, type Selection } from "./selection";

export interface RunsSearch {
  where?: string;
  order?: string;
  ascending?: boolean;
  archived?: boolean;
  columns?: ColumnName[];
  widths?: Record<string, number>;
  group?: ColumnName;
  open?: string[];
  selected?: Selection;
  axis?: "step" | "time" | "relative";
  smoothing?: number;
}

export function readRunsSearch(search: Record<string, unknown>): RunsSearch {
  const read: RunsSearch = {
    where: text(search.where),
    order: text(search.order),
    ascending: search.ascending === true || undefined,
    archived: search.archived === true || undefined,
    columns: texts(search.columns),
    widths: widths(search.widths),
    group: text(search.group),
    open: texts(search.open),
    selected: texts(search.selected)?.slice(0, MOST_SELECTED),
    axis: search.axis === "time" || search.axis === "relative" ? search.axis : undefined,
    smoothing: typeof search.smoothing === "number" && search.smoothing > 0 ? Math.min(search.smoothing, 0.99) : undefined,
  };
  return Object.fromEntries(Object.entries(read).filter(([, value]) => value !== undefined));
}

function text(value: unknown): string | undefined {
  return value === undefined || value === null || value === "" ? undefined : String(value);
}

function texts(value: unknown): string[] | undefined {
  const all = Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
  return all.length > 0 ? all : undefined;
}

function widths(value: unknown): Record<string, number> | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const numbers = Object.entries(value).filter(([, width]) => typeof width === "number");
  return numbers.length > 0 ? Object.fromEntries(numbers.map(([name, width]) => [name, clampWidth(width as number)])) : undefined;
}

/** The part of a view that is saved under a name: not what is selected or open at the moment. */
export function savedPart({ selected: _selected, open: _open, ...rest }: RunsSearch): RunsSearch {
  return rest;
}

/** Whether two views show the same, whatever the order of their parts. */
export function isSameView(one: RunsSearch, other: RunsSearch): boolean {
  return stable(savedPart(one)) === stable(savedPart(other));
}

function stable(value: RunsSearch): string {
  return JSON.stringify(Object.entries(value).filter(([, part]) => part !== undefined).sort(([a], [b]) => a.localeCompare(b)));
}
