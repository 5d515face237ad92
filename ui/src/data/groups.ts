/** Groups of runs as a table. Pure. */
import type { RunGroup } from "../api/types.gen";
import { number } from "./format";

export type GroupPart = "min" | "mean" | "max";
export const GROUP_PARTS: GroupPart[] = ["min", "mean", "max"];

/** The order of groups is `runs`, `value`, or `mean(metrics.NAME)` with any of the parts. */
export function sortGroups(groups: RunGroup[], order: string, ascending: boolean): RunGroup[] {
  const sign = ascending ? 1 : -1;
  return [...groups].sort((one, other) => {
    const [a, b] = [keyOf(one, order), keyOf(other, order)];
    if (a === b) return 0;
    if (a === null || b === null) return a === null ? 1 : -1; // without a value: last in both directions
    return sign * (typeof a === "number" && typeof b === "number" ? a - b : compareTexts(String(a), String(b)));
  });
}

function keyOf(group: RunGroup, order: string): number | string | null {
  if (order === "runs") return group.runs;
  if (order === "value") return group.value ?? null;
  const [, part, name] = /^(min|mean|max)\(metrics\.(.*)\)$/s.exec(order) ?? [];
  return partOf(group, name ?? "", part as GroupPart);
}

export function partOf(group: RunGroup, metric: string, part: GroupPart): number | null {
  const value = group.metrics?.[metric]?.[part];
  return typeof value === "number" ? value : null;
}

export function partText(group: RunGroup, metric: string, part: GroupPart): string {
  const value = partOf(group, metric, part);
  return value === null ? "" : number(value);
}

/** Numbers by size, everything else by letters. */
function compareTexts(one: string, other: string): number {
  const [a, b] = [Number(one), Number(other)];
  return Number.isNaN(a) || Number.isNaN(b) ? one.localeCompare(other, undefined, { numeric: true }) : a - b;
}
