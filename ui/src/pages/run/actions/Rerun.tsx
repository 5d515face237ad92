import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { submitRun } from "../../../api/sdk.gen";
import type { RunSpecInput, RunSpecOutput, RunView } from "../../../api/types.gen";
import { commandLine, newRunId, specAgain, wordsOf } from "../../../data/run/commands";
import { ProblemNote } from "../../../parts/ProblemNote";
import { Dialog } from "./Dialog";

interface Props {
  run: RunView & { spec: RunSpecOutput };
  workspace: string;
  onClose: () => void;
}

/** The same source, environment and settings once more, with other arguments if wanted. */
export function Rerun({ run, workspace, onClose }: Props) {
  const navigate = useNavigate();
  const hasScript = Boolean(run.spec.program?.script);
  const [line, setLine] = useState(commandLine(run.spec.program?.arguments ?? []));
  const submit = useMutation({
    mutationFn: async () => {
      const id = newRunId(run.experiment, Date.now() / 1000, crypto.getRandomValues(new Uint8Array(4)));
      const spec = specAgain(run, wordsOf(line)) as RunSpecInput;
      return (await submitRun({ path: { workspace }, body: { id, spec, created_by: run.created_by } })).data;
    },
    onSuccess: (made) => navigate({ to: "/w/$workspace/runs/$run", params: { workspace, run: made.id } }),
  });
  return (
    <Dialog title="Run it again" onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          submit.mutate();
        }}
      >
        <p className="soft">A new run with the same code, locked environment and settings.</p>
        {hasScript ? (
          <label>
            Arguments of {run.spec.program?.script}
            <textarea rows={3} value={line} spellCheck={false} onChange={({ target }) => setLine(target.value)} />
          </label>
        ) : (
          <pre className="recipe">{run.spec.program?.command}</pre>
        )}
        {submit.error ? <ProblemNote error={submit.error} /> : null}
        <div className="tools">
          <button type="submit" className="main" disabled={submit.isPending}>
            Submit
          </button>
        </div>
      </form>
    </Dialog>
  );
}
