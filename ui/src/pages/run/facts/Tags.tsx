import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { changeRun } from "../../../api/sdk.gen";
import type { RunChange, RunView } from "../../../api/types.gen";
import { ProblemNote } from "../../../parts/ProblemNote";

/** Tags as chips: add one, change its value by adding it again, or remove it. */
export function Tags({ run }: { run: RunView }) {
  const queries = useQueryClient();
  const [text, setText] = useState("");
  const change = useMutation({
    mutationFn: (body: RunChange) => changeRun({ path: { run: run.id }, body }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["run", run.id, "view"] }),
  });
  function add(event: React.FormEvent) {
    event.preventDefault();
    const [name = "", ...value] = text.split("=");
    if (!name.trim()) return;
    change.mutate({ tags: { [name.trim()]: value.length > 0 ? value.join("=").trim() : null } }, { onSuccess: () => setText("") });
  }
  const tags = Object.entries(run.tags ?? {});
  return (
    <section className="card" aria-label="Tags">
      <h2>Tags</h2>
      <ul className="plain chips">
        {tags.map(([name, value]) => (
          <li className="chip" key={name}>
            {value ? `${name}=${value}` : name}
            <button type="button" aria-label={`Remove the tag ${name}`} onClick={() => change.mutate({ remove_tags: [name] })}>
              ×
            </button>
          </li>
        ))}
      </ul>
      <form className="tools" onSubmit={add}>
        <input aria-label="New tag" placeholder="name=value" value={text} onChange={({ target }) => setText(target.value)} />
        <button type="submit" disabled={change.isPending || !text.trim()}>
          Add
        </button>
      </form>
      {change.error ? <ProblemNote error={change.error} /> : null}
    </section>
  );
}
