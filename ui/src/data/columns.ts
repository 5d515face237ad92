/** Columns of the table of runs: what they show, and in which order. Pure. */
import type { RunView } from "../api/types.gen";
import { fieldOf } from "./filterText";
import { metric } from "./format";

/**
 * A column as in the filter language: `metrics.NAME`, `min(metrics.NAME)`, `max(metrics.NAME)`, `params.NAME`,
 * `tags.NAME`, or a field such as `created`; and `curve(metrics.NAME)`, which is a picture.
 */
export type ColumnName = string;

export interface Column {
  kind: string;
  name: string;
  summary: "last" | "min" | "max" | "curve";
}

/** The fields that every run has, as titles of columns. */
export const FIELDS: Record<string, string> = {
  duration: "Took",
  by: "By",
  created: "Created",
  started: "Started",
  ended: "Ended",
  experiment: "Experiment",
  target: "Target",
  number: "Number",
  attempt: "Attempt",
  type: "Type",
  note: "Note",
  id: "Id",
};

/** Metrics whose names have these words come first where nobody has chosen. */
const TELLING = ["loss", "acc", "score", "reward", "error"];
const SORTED_FIELDS = ["created", "started", "ended", "duration", "name"];
const DEFAULT_FIELDS = ["duration", "by", "created"];
const LAST_FIRST = ["created", "started", "ended"];
const NUMBERS = ["duration", "number", "attempt", ...LAST_FIRST];
const WIDTHS: Record<string, number> = { curve: 98, metrics: 92, params: 84, tags: 100, duration: 88, by: 76, experiment: 140, note: 200, id: 240 };
export const NARROWEST = 48;
export const WIDEST = 800;

export function parseColumn(column: ColumnName): Column {
  const [, summary, field] = /^(min|max|curve)\((.*)\)$/s.exec(column) ?? [null, "last", column];
  const at = (field ?? "").indexOf(".");
  const kind = at < 0 ? (field ?? "") : (field ?? "").slice(0, at);
  return { kind, name: at < 0 ? "" : (field ?? "").slice(at + 1), summary: summary as Column["summary"] };
}

export function titleOf(column: ColumnName): string {
  const { kind, name, summary } = parseColumn(column);
  if (!name) return FIELDS[kind] ?? kind;
  return summary === "min" || summary === "max" ? `${name} ${summary}` : name;
}

/** The columns of a table that nobody has arranged: a curve, a few metrics and parameters, and when. */
export function defaultColumns(names: { metrics: string[]; params: string[] }): ColumnName[] {
  const metrics = [...names.metrics].sort(byTelling).slice(0, 2).map((name) => `metrics.${name}`);
  const params = names.params.slice(0, 2).map((name) => `params.${name}`);
  return [...metrics.slice(0, 1).map((name) => `curve(${name})`), ...metrics, ...params, ...DEFAULT_FIELDS];
}

function byTelling(one: string, other: string): number {
  return telling(one) - telling(other) || one.localeCompare(other);
}

function telling(name: string): number {
  const place = TELLING.findIndex((word) => name.toLowerCase().includes(word));
  return place < 0 ? TELLING.length : place;
}

/** The metrics whose values a table needs; their curves are read apart. */
export function metricsOf(columns: ColumnName[]): string[] {
  const metrics = columns.map(parseColumn).filter(({ kind, summary }) => kind === "metrics" && summary !== "curve");
  return [...new Set(metrics.map(({ name }) => name))];
}

/** The metrics that columns show in any way, for charts beside the table. */
export function namesOf(columns: ColumnName[]): string[] {
  return [...new Set(columns.map(parseColumn).filter(({ kind }) => kind === "metrics").map(({ name }) => name))];
}

export function isNumeric(column: ColumnName): boolean {
  const { kind } = parseColumn(column);
  return kind === "metrics" || kind === "params" || NUMBERS.includes(kind);
}

/** Times begin with the newest, everything else with the smallest. */
export function startsAscending(column: ColumnName): boolean {
  return !LAST_FIRST.includes(column);
}

/** The name of a run as people gave it; its id otherwise. */
export function nameOf(run: Pick<RunView, "display_name" | "name" | "id">): string {
  return run.display_name || run.name || run.id;
}

/** The server's order for a column; null where there is none. */
export function orderOf(column: ColumnName): string | null {
  const { kind, name, summary } = parseColumn(column);
  if (summary === "curve") return null;
  if (!name) return SORTED_FIELDS.includes(kind) ? kind : null;
  const field = fieldOf(kind, name);
  return summary === "last" ? field : `${summary}(${field})`;
}

export function valueOf(run: RunView, column: ColumnName): unknown {
  const { kind, name, summary } = parseColumn(column);
  if (summary === "min" || summary === "max") return run.ranges?.[name]?.[summary === "min" ? 0 : 1];
  if (kind === "metrics") return summary === "last" ? run.metrics?.[name] : undefined;
  if (kind === "params") return run.parameters?.[name];
  if (kind === "tags") return run.tags && name in run.tags ? (run.tags[name] ?? "✓") : undefined;
  return { by: run.created_by, note: run.description }[kind] ?? run[kind as keyof RunView];
}

export function textOf(run: RunView, column: ColumnName): string {
  return metric(valueOf(run, column));
}

export function widthOf(column: ColumnName, widths: Record<string, number>): number {
  const { kind, summary } = parseColumn(column);
  return widths[column] ?? WIDTHS[summary === "curve" ? "curve" : kind] ?? 110;
}

export function clampWidth(width: number): number {
  return Math.round(Math.min(WIDEST, Math.max(NARROWEST, width)));
}

/** Move a column to the place of another one. */
export function moveColumn(columns: ColumnName[], moved: ColumnName, target: ColumnName): ColumnName[] {
  const to = columns.indexOf(target);
  if (to < 0 || moved === target) return columns;
  const others = columns.filter((column) => column !== moved);
  return [...others.slice(0, to), moved, ...others.slice(to)];
}

/** Move a column by one place to the left (-1) or to the right (1). */
export function shiftColumn(columns: ColumnName[], moved: ColumnName, by: -1 | 1): ColumnName[] {
  const target = columns[columns.indexOf(moved) + by];
  return target === undefined ? columns : moveColumn(columns, moved, target);
}
