import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { askForStacks } from "../../../api/sdk.gen";
import type { ProcessStacksOutput, RunView } from "../../../api/types.gen";
import { CopyButton } from "../../../parts/CopyButton";
import { ProblemNote } from "../../../parts/ProblemNote";
import { Dialog } from "./Dialog";

const WAIT_SECONDS = 20;

/** Where each process of a run is now: for a run that hangs. */
export function Stacks({ run, onClose }: { run: RunView; onClose: () => void }) {
  const [key, setKey] = useState<string>(() => crypto.randomUUID());
  const { data, error, isFetching } = useQuery({
    queryKey: ["stacks", run.id, key],
    queryFn: async () => (await askForStacks({ path: { run: run.id }, body: { key, wait: WAIT_SECONDS } })).data,
    retry: false,
    gcTime: 0,
  });
  const processes = data?.processes ?? [];
  return (
    <Dialog title="Stacks" onClose={onClose}>
      {error ? <ProblemNote error={error} /> : null}
      {isFetching ? <p className="soft">Waiting for the nodes …</p> : null}
      {data?.missing?.length ? <p className="note waiting">No answer from node {data.missing.join(", ")}.</p> : null}
      {processes.map((each) => (
        <section className="card" key={`${each.node} ${each.pid}`}>
          <h2>
            {each.rank == null ? each.command : `rank ${each.rank}`} <span>node {each.node} · process {each.pid}</span>
          </h2>
          <pre className="stack">{textOf(each)}</pre>
        </section>
      ))}
      <div className="tools">
        <button type="button" disabled={isFetching} onClick={() => setKey(crypto.randomUUID())}>
          Ask again
        </button>
        {processes.length > 0 ? <CopyButton text={processes.map((each) => `${each.command}\n${textOf(each)}`).join("\n\n")} /> : null}
      </div>
    </Dialog>
  );
}

function textOf(process: ProcessStacksOutput): string {
  const threads = (process.threads ?? []).map((thread) => {
    const frames = [...(thread.frames ?? [])].reverse().map((frame) => `  ${frame.function}  ${frame.file}:${frame.line}`);
    return [`thread ${thread.name ?? thread.id}`, ...frames].join("\n");
  });
  return threads.join("\n") || (process.note ?? "no stack");
}
