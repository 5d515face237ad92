import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { duration, exactTime } from "../../data/format";
import { files as filesQuery, metricSummary, series, story as storyQuery } from "../../data/queries";
import { plainText } from "../../data/run/ansi";
import { nodeOf, orderedSamples, sampleFormat, sampleTitle } from "../../data/run/hardware";
import { logsOf } from "../../data/run/logPages";
import { checkpointBefore, eventsAround, linesAround, type MomentLine, samplesAt } from "../../data/run/moment";
import { linesAt, timeOf } from "../../data/run/queries";
import { type Moment, momentText, type RunSearch } from "../../data/run/search";
import { ProblemNote } from "../../parts/ProblemNote";
import { xText } from "../../parts/axisText";
import type { RunPart } from "./part";

const AROUND_SECONDS = 60;
const MOST_LINES = 24;
const MOST_EVENTS = 6;

/** One second of a run: the log lines of every rank, the hardware, the events and the nearest checkpoint. */
export function MomentPanel({ run, workspace, change, moment }: Omit<RunPart, "search"> & { moment: Moment }) {
  const { data: time = null, error } = useQuery(timeOf(run.id, moment));
  const { data: files = [] } = useQuery(filesQuery(run.id));
  const { data: story = [] } = useQuery(storyQuery(run.id));
  const paths = logsOf(files).map((file) => file.path);
  const { data: pages = [], error: logError } = useQuery(linesAt(run.id, paths, time));
  const move = (by: number) => change({ at: momentText({ ...moment, x: moment.x + by }) });
  const checkpoint = time === null ? null : checkpointBefore(files, time);
  const problem = error ?? logError;
  return (
    <section
      className="moment"
      aria-label="Moment"
      onKeyDown={({ key }) => {
        if (key === "ArrowLeft") move(-1);
        if (key === "ArrowRight") move(1);
        if (key === "Escape") change({ at: undefined });
      }}
    >
      <div className="tools">
        <h2>
          Moment: {moment.axis === "step" ? "step " : ""}
          {xText(moment.axis, moment.x)}
        </h2>
        <span className="soft">{time === null ? "" : exactTime(time)}</span>
        <span className="space" />
        <button type="button" aria-label="Earlier moment" onClick={() => move(-1)}>
          ←
        </button>
        <button type="button" aria-label="Later moment" onClick={() => move(1)}>
          →
        </button>
        <button type="button" aria-label="Close the moment" onClick={() => change({ at: undefined })}>
          ×
        </button>
      </div>
      {problem ? <ProblemNote error={problem} /> : null}
      {time === null ? null : (
        <div className="moment-parts">
          <Lines lines={linesAround(pages, time, MOST_LINES)} time={time} />
          <Samples run={run} workspace={workspace} time={time} />
          <div>
            <ul className="plain" aria-label="Events around">
              {eventsAround(story, time, MOST_EVENTS).map((line) => (
                <li key={line.seq}>
                  <span className="faint">{difference(line.time - time)}</span> {line.text}
                </li>
              ))}
            </ul>
            <p>
              {checkpoint ? `Checkpoint ${difference((checkpoint.modified ?? 0) - time)}: ` : "No checkpoint before."}
              {checkpoint ? (
                <Link to="." search={(before: RunSearch) => ({ ...before, tab: "files" as const, file: checkpoint.path })}>
                  {checkpoint.path}
                </Link>
              ) : null}
            </p>
          </div>
        </div>
      )}
    </section>
  );
}

function Lines({ lines, time }: { lines: MomentLine[]; time: number }) {
  if (lines.length === 0) return <p className="soft">No log line arrived around this time.</p>;
  return (
    <ol className="plain moment-lines" aria-label="Log lines around">
      {lines.map((line) => (
        <li key={`${line.path}:${line.number}`} className={Math.abs(line.time - time) <= 1 ? "now" : undefined}>
          <Link to="." search={(before: RunSearch) => ({ ...before, tab: "logs" as const, file: line.path, line: line.number + 1 })}>
            {new Date(line.time * 1000).toLocaleTimeString()} {line.title}
          </Link>{" "}
          {plainText(line.text)}
        </li>
      ))}
    </ol>
  );
}

function Samples({ run, workspace, time }: Pick<RunPart, "run" | "workspace"> & { time: number }) {
  const { data: summary = [] } = useQuery(metricSummary(run.id));
  const names = orderedSamples(summary.filter((each) => each.system).map((each) => each.name));
  const range = { low: time - AROUND_SECONDS, high: time + AROUND_SECONDS };
  const { data: grid } = useQuery(series(workspace, { runs: [run.id], names, axis: "time", ...range, pixels: 200, system: true }));
  const samples = samplesAt(grid, time);
  const hasNodes = new Set(samples.map((sample) => nodeOf(sample.name))).size > 1;
  if (samples.length === 0) return <p className="soft">No sample of the hardware around this time.</p>;
  return (
    <table className="pairs" aria-label="Hardware">
      <tbody>
        {samples.map(({ name, value }) => (
          <tr key={name}>
            <th scope="row">
              {hasNodes ? `${nodeOf(name)}: ` : ""}
              {sampleTitle(name).replace(/, %$/, "")}
            </th>
            <td>{sampleFormat(name)(value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** "3 s before", "2 min 1 s after". */
function difference(seconds: number): string {
  if (Math.abs(seconds) < 1) return "now";
  return `${duration(Math.abs(seconds))} ${seconds < 0 ? "before" : "after"}`;
}
