/** What the server returned for a chart, as a chart draws it. Pure. */
import type { CurveView } from "../../api/types.gen";
import type { Columns } from "../curves";

const MOST_PROBLEMS = 500;
const MOST_LINES = 8;

/** The x of values that are NaN or infinite. */
export function problemsOf(curves: CurveView[]): number[] {
  const found = new Set<number>();
  for (const { x, value, buckets } of curves) {
    if (buckets) {
      const { x: xs, nan, inf } = buckets as { x: number[]; nan: number[]; inf: number[] };
      xs.forEach((each, index) => (nan[index] || inf[index]) && found.add(each));
    } else {
      const values = (value as unknown[]) ?? [];
      ((x as number[]) ?? []).forEach((each, index) => typeof values[index] !== "number" && found.add(each));
    }
  }
  return [...found].slice(0, MOST_PROBLEMS);
}

/** The attempts after the first begin somewhere on the curve. */
export function marksOf(curve: CurveView | undefined): { x: number; label: string }[] {
  return (curve?.starts ?? []).map(([attempt, x]) => ({ x, label: `attempt ${attempt}` }));
}

/** Return a range of y without the smallest and largest two percent; null when that leaves nothing. */
export function rangeWithoutOutliers([xs, ...series]: Columns, range?: { low: number; high: number } | null): { low: number; high: number } | null {
  const values = series
    .flatMap((column) => column.filter((value, index) => typeof value === "number" && (!range || (xs[index]! >= range.low && xs[index]! <= range.high))))
    .sort((a, b) => (a as number) - (b as number)) as number[];
  if (values.length < 10) return null;
  const low = values[Math.floor(values.length * 0.02)]!;
  const high = values[Math.ceil(values.length * 0.98) - 1]!;
  return low < high ? { low, high } : null;
}

export interface RankLines {
  columns: Columns;
  labels: string[];
  /** The columns between which the band lies; null where each rank has its own line. */
  band: [number, number] | null;
}

/** Each rank as a line; of many, their mean and the band between the smallest and the largest. */
export function rankLines(columns: Columns, ranks: number[]): RankLines {
  if (ranks.length <= MOST_LINES) return { columns, labels: ranks.map((rank) => `rank ${rank}`), band: null };
  const [xs, ...series] = columns;
  const mean: (number | null | undefined)[] = [];
  const low: (number | null | undefined)[] = [];
  const high: (number | null | undefined)[] = [];
  xs.forEach((_, index) => {
    const known = series.map((column) => column[index]).filter((value) => typeof value === "number");
    mean.push(known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : undefined);
    low.push(known.length ? Math.min(...known) : undefined);
    high.push(known.length ? Math.max(...known) : undefined);
  });
  return { columns: [xs, mean, low, high], labels: [`mean of ${ranks.length} ranks`, "smallest", "largest"], band: [3, 2] };
}

/** Raw values behind smoothed ones: both on one x. */
export function stacked(front: Columns, behind: Columns): Columns {
  const xs = [...new Set([...front[0], ...behind[0]])].sort((a, b) => a - b);
  const place = new Map(xs.map((x, index) => [x, index]));
  const spread = ([own, ...series]: Columns) =>
    series.map((values) => {
      const column = new Array<number | null | undefined>(xs.length).fill(undefined);
      own.forEach((x, index) => {
        column[place.get(x)!] = values[index];
      });
      return column;
    });
  return [xs, ...spread(front), ...spread(behind)];
}

/** Move or widen a range: `pan` in its own widths, `zoom` as a factor. */
export function movedRange({ low, high }: { low: number; high: number }, { pan = 0, zoom = 1 }): { low: number; high: number } {
  const middle = (low + high) / 2 + (high - low) * pan;
  const half = ((high - low) / 2) * zoom;
  return { low: middle - half, high: middle + half };
}

/** Points as logged, as text for a spreadsheet. */
export function csvOf(points: [time: number, step: number | null, value: unknown][]): string {
  const rows = points.map(([time, step, value]) => [step ?? "", time, wireNumber(value)].join(","));
  return ["step,time,value", ...rows, ""].join("\r\n");
}

/** NaN and infinity travel as `{"float": "NaN"}`. */
function wireNumber(value: unknown): string {
  return typeof value === "object" && value !== null && "float" in value ? String(value.float) : String(value ?? "");
}
