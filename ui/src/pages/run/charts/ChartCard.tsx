import { useRef, useState } from "react";
import { counted } from "../../../data/format";
import { toggled } from "../../../data/run/chartRows";
import { momentText, parseMoment } from "../../../data/run/search";
import { ProblemNote } from "../../../parts/ProblemNote";
import { Plot } from "../../../parts/Plot";
import type { RunPart } from "../part";
import { saveCsv, savePicture } from "./saveChart";
import { useChart } from "./useChart";

interface Props {
  part: RunPart;
  name: string;
  title?: string;
  system?: boolean;
  format?: (value: number) => string;
}

/** One metric as a chart: drag to zoom, with Shift to move, click for the moment. */
export function ChartCard({ part, name, title = name, system = false, format }: Props) {
  const { run, workspace, search, change } = part;
  const card = useRef<HTMLElement>(null);
  const axis = search.axis ?? "step";
  const range = search.low !== undefined && search.high !== undefined ? { low: search.low, high: search.high } : null;
  const smoothing = search.smoothing ?? 0;
  const byRank = !system && (search.ranks ?? false);
  const chart = useChart({ run: run.id, workspace, name, axis, range, smoothing, byRank, withoutOutliers: search.outliers ?? false, system });
  const moment = parseMoment(search.at);
  const pick = (x: number) => change({ at: momentText({ axis, x, name }) });
  const last = chart.columns?.[0].at(-1);
  return (
    <section className={`card chart${chart.isStale ? " stale" : ""}`} ref={card} aria-label={title}>
      <h2>
        {title} <span>{noteOf(axis, chart.marks?.length ?? 0, chart.problems?.length ?? 0)}</span>
      </h2>
      {chart.error ? <ProblemNote error={chart.error} /> : null}
      {chart.columns && chart.lines ? (
        <Plot
          label={`${title} over ${axis}, ${counted(chart.total ?? 0, "point")}`}
          columns={chart.columns}
          lines={chart.lines}
          band={chart.band}
          axis={axis}
          xRange={range}
          yRange={chart.yRange}
          marks={chart.marks}
          problems={chart.problems}
          moment={moment?.axis === axis ? moment.x : null}
          logarithmic={search.log ?? false}
          format={format}
          onZoom={(zoom) => change({ low: zoom?.low, high: zoom?.high, axis: axis === "step" ? undefined : axis })}
          onPick={pick}
        />
      ) : (
        <div className="curve" style={{ height: 150 }}>
          {chart.isPending ? null : <p className="soft">No number in this range.</p>}
        </div>
      )}
      <ChartTools part={part} name={name} title={title} system={system} card={card} onMoment={last === undefined ? undefined : () => pick(last)} />
    </section>
  );
}

interface ToolProps extends Required<Pick<Props, "part" | "name" | "title" | "system">> {
  card: React.RefObject<HTMLElement | null>;
  onMoment?: () => void;
}

function ChartTools({ part, name, title, system, card, onMoment }: ToolProps) {
  const { run, search, change } = part;
  const [error, setError] = useState<unknown>(null);
  const isPinned = search.pinned?.includes(name) ?? false;
  return (
    <div className="chart-tools">
      <button type="button" className="quiet" aria-pressed={isPinned} aria-label={`Pin ${title}`} onClick={() => change({ pinned: toggled(search.pinned, name) })}>
        {isPinned ? "Unpin" : "Pin"}
      </button>
      <button type="button" className="quiet" aria-label={`Show the last moment of ${title}`} disabled={!onMoment} onClick={onMoment}>
        Moment
      </button>
      <button type="button" className="quiet" aria-label={`Download ${title} as PNG`} onClick={() => card.current && savePicture(card.current, title)}>
        PNG
      </button>
      <button type="button" className="quiet" aria-label={`Download ${title} as CSV`} onClick={() => saveCsv(run.id, name, system).catch(setError)}>
        CSV
      </button>
      {error ? <ProblemNote error={error} /> : null}
    </div>
  );
}

function noteOf(axis: string, restarts: number, problems: number): string {
  const parts = [restarts > 0 ? `${restarts + 1} attempts, one curve` : axis];
  if (problems > 0) parts.push(`× ${counted(problems, "place")} not finite`);
  return parts.join(" · ");
}
