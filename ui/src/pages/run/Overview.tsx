import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { RunView } from "../../api/types.gen";
import { metric } from "../../data/format";
import { children as childrenQuery, metricSummary } from "../../data/queries";
import { markOf, shortState } from "../../data/runStates";
import { CopyButton } from "../../parts/CopyButton";
import { StateMark } from "../../parts/StateMark";
import { Time } from "../../parts/Time";
import type { RunSearch } from "../../routes";
import { ChartGrid } from "./ChartGrid";

const MOST_CHARTS = 4;

/** Why it failed, the first charts, and the facts. */
export function Overview({ run, workspace, search }: { run: RunView; workspace: string; search: RunSearch }) {
  const { data: summary = [] } = useQuery(metricSummary(run.id));
  const names = summary.filter((each) => !each.system && each.kind === "scalar").map((each) => each.name);
  return (
    <div className="columns">
      <div>
        <Failure run={run} />
        <ChartGrid run={run} workspace={workspace} names={names.slice(0, MOST_CHARTS)} search={search} />
        {run.has_children ? <Children run={run} workspace={workspace} /> : null}
        {(run.warnings ?? []).map((warning) => (
          <p className="note waiting" key={warning}>
            {warning}
          </p>
        ))}
      </div>
      <Facts run={run} metrics={summary.filter((each) => !each.system).map((each) => [each.name, metric(each.last)])} />
    </div>
  );
}

function Failure({ run }: { run: RunView }) {
  const cause = run.outcome?.cause;
  if (run.status !== "Failed" || !cause) return null;
  const lines = cause.traceback?.trimEnd() || (cause.last_lines ?? []).join("\n");
  return (
    <section className="card failed">
      <h2>
        Why it failed <span>{cause.rank == null ? "" : `first failure: rank ${cause.rank}`}</span>
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

function Facts({ run, metrics }: { run: RunView; metrics: [string, string][] }) {
  const command = [run.spec?.program?.script, ...(run.spec?.program?.arguments ?? [])].filter(Boolean).join(" ");
  const facts: [string, string][] = [
    ["experiment", run.experiment],
    ["by", run.created_by ?? ""],
    ["target", run.target ?? ""],
    ["attempt", run.attempt > 1 ? String(run.attempt) : ""],
    ["command", command],
    ["code", run.snapshot?.slice(0, 12) ?? ""],
    ["environment", run.lock?.slice(0, 12) ?? ""],
  ];
  return (
    <aside className="facts">
      <Table title="Summary" rows={metrics} />
      <Table title="Parameters" rows={Object.entries(run.parameters ?? {})} />
      <Table title="Run" rows={facts.filter(([, value]) => value)}>
        <tr>
          <th scope="row">created</th>
          <td>
            <Time time={run.created} />
          </td>
        </tr>
      </Table>
      <Table title="Tags" rows={Object.entries(run.tags ?? {}).map(([name, value]) => [name, value ?? ""])} />
      {run.description ? (
        <section className="card">
          <h2>Notes</h2>
          <p className="text">{run.description}</p>
        </section>
      ) : null}
      <section className="card">
        <h2>Copy</h2>
        <pre>footplate runs show {run.id}</pre>
        <CopyButton text={`footplate runs show ${run.id}`} />
      </section>
    </aside>
  );
}

function Table({ title, rows, children }: { title: string; rows: [string, string][]; children?: React.ReactNode }) {
  if (rows.length === 0) return null;
  return (
    <section className="card">
      <h2>{title}</h2>
      <table className="pairs">
        <tbody>
          {rows.map(([name, value]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{value}</td>
            </tr>
          ))}
          {children}
        </tbody>
      </table>
    </section>
  );
}
