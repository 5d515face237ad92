import { useMemo } from "react";
import type { CurveView, SeriesGrid } from "../api/types.gen";
import { columnsOf } from "../data/curves";
import { Plot } from "./Plot";
import type { Range } from "./plotOptions";

export interface CurveProps {
  label: string;
  grid: SeriesGrid;
  curves: { view: CurveView; color: string; label: string }[];
  smoothing?: number;
  logarithmic?: boolean;
  height?: number;
  onZoom?: (range: Range | null) => void;
}

/** Curves of the server in one chart. */
export function Curve({ label, grid, curves, smoothing = 0, logarithmic = false, height = 150, onZoom }: CurveProps) {
  const columns = useMemo(() => columnsOf(grid, curves.map((curve) => curve.view), smoothing), [grid, curves, smoothing]);
  const lines = curves.map(({ color, label }) => ({ color, label }));
  const axis = grid.axis === "time" || grid.axis === "relative" ? grid.axis : "step";
  return <Plot label={label} columns={columns} lines={lines} axis={axis} logarithmic={logarithmic} height={height} onZoom={onZoom} />;
}
