import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { RunView } from "../../api/types.gen";
import { duration, metric } from "../../data/format";
import { metricSummary, story as storyQuery } from "../../data/queries";
import { isOver, markOf, phasesOf, sentence } from "../../data/runStates";
import { StateMark } from "../../parts/StateMark";
import { useNow } from "../../parts/useNow";
import { Actions } from "./actions/Actions";

/** The name of a run, what is happening in one sentence, its phases as a bar, and what can be done. */
export function Head({ run, workspace }: { run: RunView; workspace: string }) {
  const now = useNow(1);
  const { data: story } = useQuery(storyQuery(run.id));
  const phases = phasesOf(story ?? [], now, isOver(run));
  const total = phases.reduce((sum, phase) => sum + phase.seconds, 0);
  return (
    <header className="head">
      <p className="crumbs">
        <Link to="/w/$workspace/runs" params={{ workspace }}>
          Runs
        </Link>{" "}
        / {run.experiment}
      </p>
      <div className="title">
        <StateMark mark={markOf(run)} />
        <h1>{run.display_name || run.id}</h1>
        <code className="faint">{run.id}</code>
        <Actions run={run} workspace={workspace} />
      </div>
      <p className="sentence" aria-live="polite">
        {sentence(run, now)}
      </p>
      <LastMetric run={run} />
      {run.outcome?.cause?.hint ? <p className="soft">hint: {run.outcome.cause.hint}</p> : null}
      <div className="phases" aria-hidden="true">
        {phases.map((phase, index) => (
          // phases have no other identity, and are only added
          <i key={index} className={phase.mark} style={{ flexGrow: phase.seconds / (total || 1) }} />
        ))}
        {isOver(run) ? <i className={`end ${markOf(run)}`} /> : null}
      </div>
      <ul className="phase-names" aria-label="Phases">
        {phases.map((phase, index) => (
          // as above
          <li key={index}>
            {phase.name} {duration(phase.seconds)}
          </li>
        ))}
      </ul>
    </header>
  );
}

/** "Is it still learning?", for a narrow screen, where the summary is far below. */
function LastMetric({ run }: { run: RunView }) {
  const { data: summary = [] } = useQuery(metricSummary(run.id));
  const [first] = summary.filter((each) => !each.system && each.kind === "scalar");
  return first ? (
    <p className="narrow-only soft">
      {first.name} {metric(first.last)}
    </p>
  ) : null;
}
