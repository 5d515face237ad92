/** Which columns the table of runs has, and what they show. Pure. */
import type { RunView } from "../../api/types.gen";
import { metric } from "../../data/format";

/** A column is `metrics.NAME`, `params.NAME` or `tags.NAME`, as in the filter language. */
export type ColumnName = string;

const MOST_CHOSEN = 6;

export function availableColumns(runs: RunView[]): ColumnName[] {
  const names = new Set<string>();
  for (const run of runs) {
    for (const name of Object.keys(run.metrics ?? {})) names.add(`metrics.${name}`);
    for (const name of Object.keys(run.parameters ?? {})) names.add(`params.${name}`);
    for (const name of Object.keys(run.tags ?? {})) names.add(`tags.${name}`);
  }
  return [...names].sort();
}

/** The columns of a table that nobody has arranged: a few metrics, then a few parameters. */
export function defaultColumns(available: ColumnName[]): ColumnName[] {
  const metrics = available.filter((name) => name.startsWith("metrics.")).slice(0, 3);
  const parameters = available.filter((name) => name.startsWith("params."));
  return [...metrics, ...parameters].slice(0, MOST_CHOSEN);
}

export function valueOf(run: RunView, column: ColumnName): unknown {
  const at = column.indexOf(".");
  const name = column.slice(at + 1);
  const source = { metrics: run.metrics, params: run.parameters, tags: run.tags }[column.slice(0, at)];
  return source?.[name];
}

export function textOf(run: RunView, column: ColumnName): string {
  return metric(valueOf(run, column));
}

export function titleOf(column: ColumnName): string {
  return column.slice(column.indexOf(".") + 1);
}

/** The order that the server understands: metrics can be sorted, other columns cannot yet. */
export function orderOf(column: ColumnName): string | null {
  return column.startsWith("metrics.") ? `metric:${titleOf(column)}` : null;
}

/** The conditions of a filter, joined by `and` at its top level: each becomes a chip. */
export function conditionsOf(where: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let quote = "";
  let start = 0;
  for (let at = 0; at < where.length; at += 1) {
    const letter = where.charAt(at);
    if (quote) {
      if (letter === quote) quote = "";
    } else if (letter === '"' || letter === "'") quote = letter;
    else if (letter === "(") depth += 1;
    else if (letter === ")") depth -= 1;
    else if (depth === 0 && /^\sand\s/i.test(where.slice(at, at + 5))) {
      parts.push(where.slice(start, at));
      start = at + 5;
    }
  }
  parts.push(where.slice(start));
  const trimmed = parts.map((part) => part.trim()).filter(Boolean);
  // `or` at the top level binds weaker than `and`: such a filter is one condition.
  return trimmed.some((part) => /\sor\s/i.test(part) && !part.startsWith("(")) ? [where.trim()] : trimmed;
}
