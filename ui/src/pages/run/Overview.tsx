import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { RunView } from "../../api/types.gen";
import { children as childrenQuery, files as filesQuery, metricSummary } from "../../data/queries";
import { firstToFail, logsOf } from "../../data/run/logPages";
import { markOf, shortState } from "../../data/runStates";
import { StateMark } from "../../parts/StateMark";
import { ChartCard } from "./charts/ChartCard";
import { Facts } from "./facts/Facts";
import type { RunPart } from "./part";

const MOST_CHARTS = 4;

/** Why it failed, the first charts, and the facts. */
export function Overview(part: RunPart) {
  const { run, workspace, search } = part;
  const { data: summary = [] } = useQuery(metricSummary(run.id));
  const names = summary.filter((each) => !each.system && each.kind === "scalar").map((each) => each.name);
  const pinned = names.filter((name) => search.pinned?.includes(name));
  const first = [...pinned, ...names.filter((name) => !pinned.includes(name))].slice(0, Math.max(MOST_CHARTS, pinned.length));
  return (
    <div className="columns">
      <div>
        <Failure run={run} />
        <div className="charts">
          {first.map((name) => (
            <ChartCard key={name} part={part} name={name} />
          ))}
        </div>
        {names.length > first.length ? (
          <p className="soft more">
            <Link to="." search={(before) => ({ ...before, tab: "charts" as const })}>
              All {names.length.toLocaleString("en")} charts
            </Link>
          </p>
        ) : null}
        {run.has_children ? <Children run={run} workspace={workspace} /> : null}
        {(run.warnings ?? []).map((warning) => (
          <p className="note waiting" key={warning}>
            {warning}
          </p>
        ))}
      </div>
      <Facts run={run} summary={summary} />
    </div>
  );
}

function Failure({ run }: { run: RunView }) {
  const cause = run.outcome?.cause;
  const { data: files = [] } = useQuery({ ...filesQuery(run.id), enabled: run.status === "Failed" });
  const [log] = firstToFail(logsOf(files), cause?.rank);
  if (run.status !== "Failed" || !cause) return null;
  const lines = cause.traceback?.trimEnd() || (cause.last_lines ?? []).join("\n");
  return (
    <section className="card failed">
      <h2>
        Why it failed{" "}
        <span>
          {cause.rank == null ? "" : `first failure: rank ${cause.rank} · `}
          <Link to="." search={(before) => ({ ...before, tab: "logs" as const, file: log?.path })}>
            its log
          </Link>
        </span>
      </h2>
      <pre>{lines || cause.message}</pre>
    </section>
  );
}

function Children({ run, workspace }: { run: RunView; workspace: string }) {
  const { data: children = [] } = useQuery(childrenQuery(workspace, run.id));
  return (
    <section className="card">
      <h2>
        Children <span>{children.length}</span>
      </h2>
      <ul className="plain">
        {children.map((child) => (
          <li key={child.id}>
            <StateMark mark={markOf(child)} />
            <Link to="/w/$workspace/runs/$run" params={{ workspace, run: child.id }}>
              {child.display_name || child.id}
            </Link>{" "}
            <span className="soft">{shortState(child)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
