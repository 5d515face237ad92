/** A curve as the path of a small picture. Pure. */
import type { CurveView } from "../api/types.gen";

interface Buckets {
  x: number[];
  first: (number | null)[];
  min: (number | null)[];
  max: (number | null)[];
  last: (number | null)[];
}

/** Return the path of a curve in a box; gaps break the line. A single point is a short dash. */
export function sparkPath(width: number | null, curve: CurveView, box: { width: number; height: number }): string {
  const [xs, values] = pointsOf(width ?? 1, curve);
  const numbers = values.filter((value): value is number => value != null);
  if (numbers.length === 0) return "";
  const [low, high] = [smallest(numbers), largest(numbers)];
  const [start, end] = [xs[0] ?? 0, xs.at(-1) ?? 0];
  const place = (x: number) => (end === start ? box.width / 2 : ((x - start) / (end - start)) * box.width);
  const level = (value: number) => 1 + (high === low ? 0.5 : (high - value) / (high - low)) * (box.height - 2);
  let path = "";
  let isDrawing = false;
  xs.forEach((x, index) => {
    const value = values[index];
    if (value != null) path += `${isDrawing ? "L" : "M"}${place(x).toFixed(1)},${level(value).toFixed(1)}`;
    isDrawing = value != null;
  });
  return numbers.length === 1 ? `${path}h2` : path;
}

/** In a bucket that falls, the largest value comes before the smallest: the line does not go to and fro. */
function pointsOf(width: number, curve: CurveView): [number[], (number | null)[]] {
  const buckets = curve.buckets as Buckets | null | undefined;
  if (!buckets) return [(curve.x as number[]) ?? [], (curve.value as (number | null)[]) ?? []];
  const xs = buckets.x.flatMap((x) => [0, 1, 2, 3].map((place) => x + (place * width) / 4));
  const values = buckets.x.flatMap((_, index) => {
    const [first, last] = [buckets.first[index] ?? null, buckets.last[index] ?? null];
    const extremes = [buckets.min[index] ?? null, buckets.max[index] ?? null];
    if ((first ?? 0) > (last ?? 0)) extremes.reverse();
    return [first, ...extremes, last];
  });
  return [xs, values];
}

function smallest(numbers: number[]): number {
  return numbers.reduce((a, b) => Math.min(a, b));
}

function largest(numbers: number[]): number {
  return numbers.reduce((a, b) => Math.max(a, b));
}
