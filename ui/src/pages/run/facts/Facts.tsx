import type { MetricSummary } from "../../../api/types.gen";
import { metric, number } from "../../../data/format";
import { commandLine } from "../../../data/run/commands";
import { Time } from "../../../parts/Time";
import type { RunPart } from "../part";
import { Notes } from "./Notes";
import { Pairs } from "./Pairs";
import { Recipes } from "./Recipes";
import { Tags } from "./Tags";

const MOST = 30;

/** The facts beside the charts. */
export function Facts({ run, summary }: Pick<RunPart, "run"> & { summary: MetricSummary[] }) {
  const metrics = summary.filter((each) => !each.system);
  const { program } = run.spec ?? {};
  const commit = run.properties?.["azureml.git.commit"]?.slice(0, 10);
  const isChanged = run.properties?.["azureml.git.dirty"] === "True";
  const facts: [string, string][] = [
    ["experiment", run.experiment],
    ["by", run.created_by ?? ""],
    ["target", run.target ?? ""],
    ["nodes", (run.nodes ?? []).length > 1 ? String(run.nodes?.length) : ""],
    ["attempt", run.attempt > 1 ? String(run.attempt) : ""],
    ["command", program?.command ?? commandLine([program?.script ?? "", ...(program?.arguments ?? [])].filter(Boolean))],
    ["code", commit ? `${commit}${isChanged ? " and uncommitted changes" : ""}` : (run.snapshot?.slice(0, 12) ?? "")],
    ["environment", run.lock?.slice(0, 12) ?? ""],
  ];
  return (
    <aside className="facts">
      <Pairs title="Summary" rows={metrics.slice(0, MOST).map((each) => [each.name, lastAndBest(each)])} />
      {metrics.length > MOST ? <p className="soft">and {(metrics.length - MOST).toLocaleString("en")} more metrics</p> : null}
      <Pairs title="Parameters" rows={Object.entries(run.parameters ?? {})} />
      <Pairs title="Run" rows={facts.filter(([, value]) => value)}>
        <tr>
          <th scope="row">created</th>
          <td>
            <Time time={run.created} />
          </td>
        </tr>
      </Pairs>
      <Tags run={run} />
      <Notes run={run} />
      <Recipes run={run} />
    </aside>
  );
}

function lastAndBest({ last, min, max }: MetricSummary): string {
  const extremes = [min !== null && min !== last ? `min ${number(min)}` : "", max !== null && max !== last ? `max ${number(max)}` : ""];
  return [metric(last), ...extremes.filter(Boolean)].join(" · ");
}
