import { duration, number } from "../data/format";

/** A place on an axis, in words. */
export function xText(axis: "step" | "time" | "relative", x: number): string {
  if (axis === "time") return new Date(x * 1000).toLocaleTimeString();
  return axis === "relative" ? (x === 0 ? "0" : duration(x)) : number(x);
}
