import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { changeRun } from "../../../api/sdk.gen";
import type { RunView } from "../../../api/types.gen";
import { ProblemNote } from "../../../parts/ProblemNote";
import { Markdown } from "../Markdown";

/** Notes about a run in Markdown: its description, which everybody can edit who may change the run. */
export function Notes({ run }: { run: RunView }) {
  const queries = useQueryClient();
  const [draft, setDraft] = useState<string | null>(null);
  const save = useMutation({
    mutationFn: (description: string) => changeRun({ path: { run: run.id }, body: { description } }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["run", run.id, "view"] });
      setDraft(null);
    },
  });
  return (
    <section className="card" aria-label="Notes">
      <h2>
        Notes
        {draft === null ? (
          <button type="button" className="quiet" onClick={() => setDraft(run.description ?? "")}>
            Edit
          </button>
        ) : null}
      </h2>
      {draft === null ? (
        run.description ? <Markdown text={run.description} /> : <p className="faint">What did you try, what did you see? Write it in Markdown.</p>
      ) : (
        <form
          className="form"
          onSubmit={(event) => {
            event.preventDefault();
            save.mutate(draft);
          }}
        >
          <textarea aria-label="Notes in Markdown" rows={6} value={draft} onChange={({ target }) => setDraft(target.value)} autoFocus />
          <div className="tools">
            <button type="submit" className="main" disabled={save.isPending}>
              Save
            </button>
            <button type="button" onClick={() => setDraft(null)}>
              Discard
            </button>
          </div>
        </form>
      )}
      {save.error ? <ProblemNote error={save.error} /> : null}
    </section>
  );
}
