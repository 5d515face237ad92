import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { SeriesGrid } from "../../../api/types.gen";
import { columnsOf } from "../../../data/curves";
import { series } from "../../../data/queries";
import { marksOf, problemsOf, rangeWithoutOutliers, stacked } from "../../../data/run/plotData";
import type { Axis } from "../../../data/run/search";
import type { PlotLine, Range } from "../../../parts/plotOptions";

export interface ChartRequest {
  run: string;
  workspace: string;
  name: string;
  axis: Axis;
  range: Range | null;
  smoothing: number;
  withoutOutliers: boolean;
  system: boolean;
}

/** The data of one chart, as the server sums it up for so many pixels, and how it is drawn. */
export function useChart(request: ChartRequest) {
  const { run, workspace, name, axis, range, system } = request;
  const wanted = { runs: [run], names: [name], axis, low: range?.low, high: range?.high, pixels: 480, system };
  const raw = useQuery(series(workspace, wanted));
  const grid = raw.data;
  const { smoothing } = request;
  const drawn = useMemo(() => draw(name, grid, smoothing), [name, grid, smoothing]);
  const yRange = useMemo(
    () => (request.withoutOutliers && drawn ? rangeWithoutOutliers(drawn.columns, range) : null),
    [drawn, range, request.withoutOutliers],
  );
  return { ...drawn, yRange, error: raw.error, isStale: raw.isPlaceholderData, isPending: raw.isPending };
}

function draw(name: string, raw: SeriesGrid | undefined, smoothing: number) {
  if (!raw || raw.curves.length === 0) return null;
  const marks = marksOf(raw.curves[0]);
  const problems = problemsOf(raw.curves);
  const total = raw.curves.reduce((sum, curve) => sum + curve.total, 0);
  const behind = columnsOf(raw, raw.curves);
  const lines: PlotLine[] = [{ label: name, color: "--c1" }];
  if (smoothing === 0) return { columns: behind, lines, band: undefined, marks, problems, total };
  const columns = stacked(columnsOf(raw, raw.curves, smoothing), behind);
  return { columns, lines: [...lines, { label: "", color: "--c1", isFaint: true }], band: undefined, marks, problems, total };
}
