/** Curves of the server as the columns of a chart: one x for all series. Pure. */
import type { CurveView, SeriesGrid } from "../api/types.gen";

/** `undefined` is a point that a curve does not have, and lines pass over it; `null` is a gap. */
export type Columns = [number[], ...(number | null | undefined)[][]];

interface Buckets {
  x: number[];
  first: (number | null)[];
  min: (number | null)[];
  max: (number | null)[];
  last: (number | null)[];
}

/** Inside a bucket, four points at a quarter of its width each draw the same pixels as all its points. */
const PLACES = ["first", "min", "max", "last"] as const;

export function columnsOf(grid: Pick<SeriesGrid, "width">, curves: CurveView[], smoothing = 0): Columns {
  const lines = curves.map((curve) => lineOf(curve, grid.width ?? 1));
  const xs = [...new Set(lines.flatMap((line) => line.x))].sort((a, b) => a - b);
  const places = new Map(xs.map((x, index) => [x, index]));
  const series = lines.map((line) => {
    const column = new Array<number | null | undefined>(xs.length).fill(undefined);
    const values = smoothing > 0 ? smooth(line.y, smoothing) : line.y;
    line.x.forEach((x, index) => {
      column[places.get(x) ?? 0] = values[index] ?? null;
    });
    return column;
  });
  return [xs, ...series];
}

function lineOf(curve: CurveView, width: number): { x: number[]; y: (number | null)[] } {
  const buckets = curve.buckets as Buckets | null | undefined;
  if (!buckets) return { x: (curve.x as number[]) ?? [], y: (curve.value as (number | null)[]) ?? [] };
  return {
    x: buckets.x.flatMap((x) => PLACES.map((_, index) => x + (width * index) / PLACES.length)),
    y: buckets.x.flatMap((_, index) => PLACES.map((place) => buckets[place][index] ?? null)),
  };
}

/** Exponential smoothing without a bias at the start; gaps stay gaps. */
export function smooth(values: (number | null)[], weight: number): (number | null)[] {
  let mean = 0;
  let seen = 0;
  return values.map((value) => {
    if (value === null) return null;
    mean = mean * weight + value * (1 - weight);
    seen += 1;
    return mean / (1 - weight ** seen);
  });
}
