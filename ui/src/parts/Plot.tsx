import { useEffect, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Columns } from "../data/curves";
import { type PlotLine, type PlotView, plotOptions } from "./plotOptions";

interface Props extends PlotView {
  label: string;
  columns: Columns;
  lines: PlotLine[];
  /** Fill between two columns. */
  band?: [number, number];
  logarithmic?: boolean;
  height?: number;
}

/** A chart, drawn outside of React. New points and ranges change it; it is made anew only when its lines change. */
export function Plot({ label, columns, lines, band, logarithmic = false, height = 150, ...view }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const readout = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const scheme = useScheme();
  const data = useMemo(() => (logarithmic ? positive(columns) : columns), [columns, logarithmic]);
  const now = useRef({ view, data });
  now.current = { view, data };
  const made = JSON.stringify([lines, band, logarithmic, view.axis, scheme]);

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const [wanted, filled] = JSON.parse(made) as [PlotLine[], [number, number] | null];
    const plot = new uPlot(
      plotOptions({
        lines: wanted,
        band: filled ?? undefined,
        logarithmic,
        height,
        width: element.clientWidth,
        style: getComputedStyle(element),
        view: () => now.current.view,
        onCursor: (text) => {
          if (readout.current) readout.current.textContent = text;
        },
      }),
      now.current.data as uPlot.AlignedData,
      element,
    );
    chart.current = plot;
    listen(plot, () => now.current.view);
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
      chart.current = null;
    };
  }, [made, logarithmic, height]);

  // setData asks for the ranges again, so that a zoom is seen before its details have arrived
  const { xRange, yRange, marks, problems, moment } = view;
  const ranges = JSON.stringify([xRange, yRange]);
  useEffect(() => {
    void ranges;
    chart.current?.setData(data as uPlot.AlignedData);
  }, [data, ranges]);
  const drawn = JSON.stringify([marks, problems, moment]);
  useEffect(() => {
    void drawn;
    chart.current?.redraw(false);
  }, [drawn]);

  return (
    <div ref={place} className="curve" style={{ height }} role="img" aria-label={label}>
      <div ref={readout} className="readout" aria-hidden="true" />
    </div>
  );
}

function listen(plot: uPlot, view: () => PlotView): void {
  let pressed = 0;
  plot.over.addEventListener("mousedown", (event) => {
    pressed = event.clientX;
  });
  plot.over.addEventListener("click", (event) => {
    const x = plot.cursor.idx == null ? undefined : plot.data[0]?.[plot.cursor.idx];
    if (Math.abs(event.clientX - pressed) < 4 && !event.shiftKey && x !== undefined) view().onPick?.(x);
  });
  plot.over.addEventListener("dblclick", () => view().onZoom?.(null));
}

/** A logarithm of zero or less does not exist: such values are gaps. */
function positive([xs, ...series]: Columns): Columns {
  return [xs, ...series.map((values) => values.map((value) => (typeof value === "number" && value <= 0 ? null : value)))];
}

function useScheme(): string {
  const [isDark, setDark] = useState(() => matchMedia("(prefers-color-scheme: dark)").matches);
  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const change = () => setDark(query.matches);
    query.addEventListener("change", change);
    return () => query.removeEventListener("change", change);
  }, []);
  return isDark ? "dark" : "light";
}
