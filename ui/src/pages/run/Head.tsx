import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { cancelRun, changeRun, restartRun } from "../../api/sdk.gen";
import type { RunView } from "../../api/types.gen";
import { duration } from "../../data/format";
import { story as storyQuery } from "../../data/queries";
import { isOver, markOf, phasesOf, sentence } from "../../data/runStates";
import { ProblemNote } from "../../parts/ProblemNote";
import { StateMark } from "../../parts/StateMark";
import { useNow } from "../../parts/useNow";

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
        <Actions run={run} />
      </div>
      <p className="sentence" aria-live="polite">
        {sentence(run, now)}
      </p>
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

function Actions({ run }: { run: RunView }) {
  const queries = useQueryClient();
  const done = () => queries.invalidateQueries({ queryKey: ["run", run.id] });
  const path = { run: run.id };
  const cancel = useMutation({ mutationFn: () => cancelRun({ path, body: { reason: "canceled on the page" } }), onSettled: done });
  const restart = useMutation({ mutationFn: () => restartRun({ path, body: { attempt: run.attempt + 1 } }), onSettled: done });
  const archive = useMutation({ mutationFn: () => changeRun({ path, body: { archived: run.archived == null } }), onSettled: done });
  const error = cancel.error ?? restart.error ?? archive.error;
  return (
    <div className="actions">
      {isOver(run) ? (
        <button type="button" onClick={() => archive.mutate()}>
          {run.archived == null ? "Archive" : "Restore"}
        </button>
      ) : (
        <button type="button" onClick={() => cancel.mutate()} disabled={cancel.isPending}>
          Cancel
        </button>
      )}
      {run.status === "Failed" || run.status === "Canceled" ? (
        <button type="button" className="main" onClick={() => restart.mutate()} disabled={restart.isPending}>
          Restart
        </button>
      ) : null}
      {error ? <ProblemNote error={error} /> : null}
    </div>
  );
}
