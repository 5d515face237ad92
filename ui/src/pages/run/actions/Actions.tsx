import { useMutation, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { cancelRun, changeRun, restartRun } from "../../../api/sdk.gen";
import type { RunSpecOutput, RunView } from "../../../api/types.gen";
import { isOver } from "../../../data/runStates";
import { ProblemNote } from "../../../parts/ProblemNote";

const Rerun = lazy(() => import("./Rerun").then((module) => ({ default: module.Rerun })));
const Register = lazy(() => import("./Register").then((module) => ({ default: module.Register })));
const Stacks = lazy(() => import("./Stacks").then((module) => ({ default: module.Stacks })));

type Asked = "rerun" | "register" | "stacks" | null;

/** What can be done with a run in its present state. */
export function Actions({ run, workspace }: { run: RunView; workspace: string }) {
  const queries = useQueryClient();
  const [asked, setAsked] = useState<Asked>(null);
  const done = () => queries.invalidateQueries({ queryKey: ["run", run.id] });
  const path = { run: run.id };
  const cancel = useMutation({ mutationFn: () => cancelRun({ path, body: { reason: "canceled on the page" } }), onSettled: done });
  const restart = useMutation({ mutationFn: () => restartRun({ path, body: { attempt: run.attempt + 1 } }), onSettled: done });
  const archive = useMutation({ mutationFn: () => changeRun({ path, body: { archived: run.archived == null } }), onSettled: done });
  const error = cancel.error ?? restart.error ?? archive.error;
  const isEnded = isOver(run);
  const close = () => setAsked(null);
  return (
    <div className="actions">
      {isRepeatable(run) ? (
        <button type="button" onClick={() => setAsked("rerun")}>
          Rerun …
        </button>
      ) : null}
      <button type="button" className="wide-only" onClick={() => setAsked("register")}>
        Register model …
      </button>
      {run.status === "Running" && run.kind === "job" ? (
        <button type="button" className="wide-only" onClick={() => setAsked("stacks")}>
          Stacks
        </button>
      ) : null}
      {isEnded ? (
        <button type="button" onClick={() => archive.mutate()} disabled={archive.isPending}>
          {run.archived == null ? "Archive" : "Restore"}
        </button>
      ) : (
        <button type="button" onClick={() => cancel.mutate()} disabled={cancel.isPending || run.status === "CancelRequested"}>
          Cancel
        </button>
      )}
      {run.status === "Failed" || run.status === "Canceled" ? (
        <button type="button" className="main" onClick={() => restart.mutate()} disabled={restart.isPending}>
          Restart
        </button>
      ) : null}
      {error ? <ProblemNote error={error} /> : null}
      <Suspense fallback={null}>
        {asked === "rerun" && isRepeatable(run) ? <Rerun run={run} workspace={workspace} onClose={close} /> : null}
        {asked === "register" ? <Register run={run} workspace={workspace} onClose={close} /> : null}
        {asked === "stacks" ? <Stacks run={run} onClose={close} /> : null}
      </Suspense>
    </div>
  );
}

/** A run that an engine executed, and whose environment is known. */
function isRepeatable(run: RunView): run is RunView & { spec: RunSpecOutput } {
  return run.kind === "job" && Boolean(run.spec) && Boolean(run.lock);
}
