import { useEffect, useMemo, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { CurveView, SeriesGrid } from "../api/types.gen";
import { columnsOf } from "../data/curves";
import { number } from "../data/format";

export interface CurveProps {
  label: string;
  grid: SeriesGrid;
  curves: { view: CurveView; color: string; label: string }[];
  smoothing?: number;
  logarithmic?: boolean;
  height?: number;
  onZoom?: (range: { low: number; high: number } | null) => void;
}

/** A chart, drawn outside of React. New points change its data; it is made anew only when its lines change. */
export function Curve({ label, grid, curves, smoothing = 0, logarithmic = false, height = 150, onZoom }: CurveProps) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const zoom = useRef(onZoom);
  zoom.current = onZoom;
  const lines = JSON.stringify(curves.map((curve) => [curve.label, curve.color]));
  const data = useMemo(() => columnsOf(grid, curves.map((curve) => curve.view), smoothing), [grid, curves, smoothing]);
  const latest = useRef(data);
  latest.current = data;

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const style = getComputedStyle(element);
    const series = (JSON.parse(lines) as [string, string][]).map(([name, color]) => {
      return { label: name, stroke: style.getPropertyValue(color) || "gray", width: 1.25, points: { size: 4 } };
    });
    const axis = { stroke: style.getPropertyValue("--faint"), grid: { stroke: style.getPropertyValue("--line"), width: 1 }, ticks: { show: false } };
    const made = new uPlot(
      {
        width: element.clientWidth,
        height,
        scales: { x: { time: false }, y: { distr: logarithmic ? 3 : 1 } },
        axes: [
          { ...axis, space: 80, size: 24, values: (_, ticks) => ticks.map(number) },
          { ...axis, size: 52, space: 30, values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : number(tick))) },
        ],
        series: [{}, ...series],
        legend: { show: false },
        cursor: { sync: { key: "page" }, drag: { x: true, y: false, setScale: false }, points: { size: 5 } },
        hooks: {
          setSelect: [
            (plot) => {
              if (plot.select.width < 4) return;
              const low = plot.posToVal(plot.select.left, "x");
              const high = plot.posToVal(plot.select.left + plot.select.width, "x");
              plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
              zoom.current?.({ low, high });
            },
          ],
        },
      },
      latest.current as uPlot.AlignedData,
      element,
    );
    chart.current = made;
    const reset = () => zoom.current?.(null);
    made.over.addEventListener("dblclick", reset);
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      chart.current = null;
    };
  }, [lines, logarithmic, height]);

  useEffect(() => chart.current?.setData(data as uPlot.AlignedData), [data]);

  return <div ref={place} className="curve" style={{ height }} role="img" aria-label={label} />;
}
