import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { SeriesGrid } from "../../../api/types.gen";
import { columnsOf } from "../../../data/curves";
import { series } from "../../../data/queries";
import { marksOf, problemsOf, rangeWithoutOutliers, rankLines, stacked } from "../../../data/run/plotData";
import type { Axis } from "../../../data/run/search";
import { colorOf } from "../../../parts/colors";
import type { PlotLine, Range } from "../../../parts/plotOptions";

export interface ChartRequest {
  run: string;
  workspace: string;
  name: string;
  axis: Axis;
  range: Range | null;
  smoothing: number;
  byRank: boolean;
  withoutOutliers: boolean;
  system: boolean;
}

/** The data of one chart, as the server sums it up for so many pixels, and how it is drawn. */
export function useChart(request: ChartRequest) {
  const { run, workspace, name, axis, range, system } = request;
  const wanted = { runs: [run], names: [name], axis, low: range?.low, high: range?.high, pixels: 480, system, byRank: request.byRank };
  const raw = useQuery(series(workspace, wanted));
  const smoothed = useQuery({ ...series(workspace, { ...wanted, smooth: request.smoothing }), enabled: request.smoothing > 0 });
  const behind = raw.data;
  const front = request.smoothing > 0 ? smoothed.data : undefined;
  const drawn = useMemo(() => draw(name, behind, front), [name, behind, front]);
  const yRange = useMemo(
    () => (request.withoutOutliers && drawn ? rangeWithoutOutliers(drawn.columns, range) : null),
    [drawn, range, request.withoutOutliers],
  );
  return { ...drawn, yRange, error: raw.error ?? smoothed.error, isStale: raw.isPlaceholderData, isPending: raw.isPending };
}

function draw(name: string, raw: SeriesGrid | undefined, smoothed: SeriesGrid | undefined) {
  if (!raw || raw.curves.length === 0) return null;
  const shown = smoothed ?? raw;
  const facts = { marks: marksOf(raw.curves[0]), problems: problemsOf(raw.curves), total: raw.curves.reduce((sum, curve) => sum + curve.total, 0) };
  const front = columnsOf(shown, shown.curves);
  if (shown.curves.length > 1) {
    const { columns, labels, band } = rankLines(front, shown.curves.map((curve, index) => curve.rank ?? index));
    const lines = labels.map((label, index): PlotLine => ({ label, color: colorOf(index), isEdge: band !== null && index > 0 }));
    return { ...facts, columns, lines, band: band ?? undefined };
  }
  const lines: PlotLine[] = [{ label: name, color: "--c1" }];
  if (!smoothed) return { ...facts, columns: front, lines, band: undefined };
  const columns = stacked(front, columnsOf(raw, raw.curves));
  return { ...facts, columns, lines: [...lines, { label: "", color: "--c1", isFaint: true }], band: undefined };
}
