/** What a chart looks like, for uPlot: everything that does not depend on React. */
import uPlot from "uplot";
import { number } from "../data/format";
import { xText } from "./axisText";

export interface PlotLine {
  label: string;
  color: string;
  /** Raw values behind smoothed ones. */
  isFaint?: boolean;
  /** The edges of a band are not drawn themselves. */
  isEdge?: boolean;
}

export interface Range {
  low: number;
  high: number;
}

export interface PlotMark {
  x: number;
  label: string;
}

/** What changes while a chart stays: read at each drawing. */
export interface PlotView {
  axis: "step" | "time" | "relative";
  xRange?: Range | null;
  yRange?: Range | null;
  marks?: PlotMark[];
  /** Where values are NaN or infinite. */
  problems?: number[];
  moment?: number | null;
  format?: (value: number) => string;
  onZoom?: (range: Range | null) => void;
  onPick?: (x: number) => void;
}

interface Making {
  lines: PlotLine[];
  band?: [number, number];
  logarithmic: boolean;
  height: number;
  width: number;
  style: CSSStyleDeclaration;
  view: () => PlotView;
  onCursor: (text: string) => void;
}

export function plotOptions({ lines, band, logarithmic, height, width, style, view, onCursor }: Making): uPlot.Options {
  const color = (name: string) => style.getPropertyValue(name) || "gray";
  const axis = { stroke: color("--faint"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false } };
  const format = (value: number) => (view().format ?? number)(value);
  return {
    width,
    height,
    scales: {
      x: { time: view().axis === "time", range: (_, low, high) => rangeOfX(view().xRange, low, high) },
      y: { distr: logarithmic ? 3 : 1, range: (_, low, high) => rangeOfY(view().yRange, low, high, logarithmic) },
    },
    axes: [
      { ...axis, space: 80, size: 24, ...(view().axis === "time" ? {} : { values: (_: uPlot, ticks: number[]) => ticks.map((tick) => xText(view().axis, tick)) }) },
      { ...axis, size: 56, space: 30, values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : format(tick))) },
    ],
    series: [{}, ...lines.map((line) => seriesOf(line, color(line.color)))],
    bands: band ? [{ series: band, fill: withAlpha(color(lines[0]?.color ?? "--c1")) }] : [],
    legend: { show: false },
    cursor: {
      sync: { key: `page-${view().axis}`, scales: ["x", null] },
      drag: { x: true, y: false, setScale: false },
      points: { size: 5 },
      bind: { mousedown: (plot, _, handler) => (event) => (event.shiftKey ? pan(plot, event, view) : handler(event)) },
    },
    hooks: {
      setSelect: [(plot) => zoom(plot, view())],
      setCursor: [(plot) => onCursor(cursorText(plot, lines, view(), format))],
      draw: [(plot) => drawMarks(plot, view(), color)],
    },
  };
}

function seriesOf(line: PlotLine, stroke: string): uPlot.Series {
  if (line.isEdge) return { label: line.label, stroke: "transparent", width: 0, points: { show: false } };
  const alone = (plot: uPlot, index: number, isShown: boolean) => (isShown ? null : alonePoints(plot.data[index] ?? []));
  return { label: line.label, stroke: line.isFaint ? withAlpha(stroke) : stroke, width: line.isFaint ? 1 : 1.25, points: { size: 4, filter: alone } };
}

/** A point between two gaps has no line: it is drawn as a point, however many others there are. */
export function alonePoints(values: ArrayLike<number | null | undefined>): number[] {
  const found: number[] = [];
  let before: number | null = null;
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index];
    if (value === undefined) continue;
    if (value !== null && before === null && next(values, index) === null) found.push(index);
    before = value;
  }
  return found;
}

function next(values: ArrayLike<number | null | undefined>, index: number): number | null {
  for (let at = index + 1; at < values.length; at += 1) if (values[at] !== undefined) return values[at] ?? null;
  return null;
}

function withAlpha(color: string): string {
  return /^#[0-9a-f]{6}$/i.test(color) ? `${color}47` : color;
}

function rangeOfX(fixed: Range | null | undefined, low: number | null, high: number | null): [number, number] {
  if (fixed) return [fixed.low, fixed.high];
  if (low === null || high === null) return [0, 1];
  return low === high ? [low - 1, high + 1] : [low, high];
}

function rangeOfY(fixed: Range | null | undefined, low: number | null, high: number | null, logarithmic: boolean): uPlot.Range.MinMax {
  if (low === null || high === null) return logarithmic ? [0.1, 1] : [0, 1];
  const [bottom, top] = fixed ? [fixed.low, fixed.high] : [low, high];
  return logarithmic ? uPlot.rangeLog(bottom, top, 10, true) : uPlot.rangeNum(bottom, top, 0.1, true);
}

function cursorText(plot: uPlot, lines: PlotLine[], { axis }: PlotView, format: (value: number) => string): string {
  const { idx } = plot.cursor;
  const x = idx == null ? undefined : plot.data[0]?.[idx];
  if (idx == null || x === undefined) return "";
  const values = lines.flatMap((line, index) => {
    const value = plot.data[index + 1]?.[idx];
    if (line.isEdge || line.isFaint || value == null) return [];
    return [lines.length > 1 && line.label ? `${line.label} ${format(value)}` : format(value)];
  });
  return [axis === "step" ? `step ${number(x)}` : xText(axis, x), ...values.slice(0, 4)].join("  ");
}

function zoom(plot: uPlot, { onZoom }: PlotView): void {
  const { left, width } = plot.select;
  if (width < 4) return;
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  onZoom?.({ low: plot.posToVal(left, "x"), high: plot.posToVal(left + width, "x") });
}

/** Move the range of x with the mouse; the page learns it once, at the end. */
function pan(plot: uPlot, from: MouseEvent, view: () => PlotView): null {
  const { min, max } = plot.scales.x ?? {};
  if (min == null || max == null) return null;
  const perPixel = (max - min) / plot.over.clientWidth;
  const rangeAt = (event: MouseEvent) => ({ low: min - (event.clientX - from.clientX) * perPixel, high: max - (event.clientX - from.clientX) * perPixel });
  const move = (event: MouseEvent) => {
    const range = rangeAt(event);
    view().xRange = range;
    plot.setScale("x", { min: range.low, max: range.high });
  };
  const end = (event: MouseEvent) => {
    document.removeEventListener("mousemove", move);
    view().onZoom?.(rangeAt(event));
  };
  document.addEventListener("mousemove", move);
  document.addEventListener("mouseup", end, { once: true });
  return null;
}

function drawMarks(plot: uPlot, { marks = [], problems = [], moment }: PlotView, color: (name: string) => string): void {
  const { ctx, bbox } = plot;
  const at = (x: number) => Math.round(plot.valToPos(x, "x", true));
  const isInside = (x: number) => x >= (plot.scales.x?.min ?? x) && x <= (plot.scales.x?.max ?? x);
  ctx.save();
  ctx.lineWidth = devicePixelRatio;
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  for (const mark of marks.filter(({ x }) => isInside(x))) {
    line(ctx, at(mark.x), bbox, color("--wait"), [3, 3]);
    ctx.fillStyle = color("--soft");
    const isLeft = at(mark.x) + ctx.measureText(mark.label).width + 8 > bbox.left + bbox.width;
    ctx.textAlign = isLeft ? "right" : "left";
    ctx.fillText(mark.label, at(mark.x) + (isLeft ? -4 : 4) * devicePixelRatio, bbox.top + 10 * devicePixelRatio);
  }
  ctx.fillStyle = color("--fail");
  ctx.textAlign = "center";
  for (const x of problems.filter(isInside)) ctx.fillText("×", at(x), bbox.top + bbox.height - 2 * devicePixelRatio);
  if (moment != null && isInside(moment)) line(ctx, at(moment), bbox, color("--ink"), []);
  ctx.restore();
}

function line(ctx: CanvasRenderingContext2D, x: number, box: uPlot.BBox, stroke: string, dash: number[]): void {
  ctx.strokeStyle = stroke;
  ctx.setLineDash(dash.map((part) => part * devicePixelRatio));
  ctx.beginPath();
  ctx.moveTo(x, box.top);
  ctx.lineTo(x, box.top + box.height);
  ctx.stroke();
}
