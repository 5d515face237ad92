import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { DataUse } from "../../api/types.gen";
import { bytes, counted } from "../../data/format";
import { dataOf, lineageOf } from "../../data/run/queries";
import { ProblemNote } from "../../parts/ProblemNote";
import type { RunPart } from "./part";

/** What the run read and wrote, and who else wrote and read it. */
export function Data({ run, workspace }: RunPart) {
  const { data: uses, error } = useQuery(dataOf(run.id));
  if (error) return <ProblemNote error={error} />;
  if (!uses) return null;
  const folders = [
    ...(run.spec?.inputs ?? []).filter((each) => !each.dataset).map((each) => ({ role: "input", ...each })),
    ...(run.spec?.outputs ?? []).map((each) => ({ role: "output", ...each })),
  ];
  if (uses.length === 0 && folders.length === 0) {
    return <p className="page soft">This run uses no data that Footplate knows of. Give it some with: footplate run --input NAME=DATASET train.py</p>;
  }
  return (
    <div className="page">
      {uses.map((use) => (
        <Used key={`${use.role} ${use.name} ${use.dataset}`} use={use} workspace={workspace} run={run.id} />
      ))}
      {folders.length > 0 ? (
        <section className="card" aria-label="Folders">
          <h2>Folders</h2>
          <table className="pairs">
            <tbody>
              {folders.map((folder) => (
                <tr key={`${folder.role} ${folder.name}`}>
                  <th scope="row">
                    {folder.role} {folder.name}
                  </th>
                  <td>
                    {folder.datastore}:{folder.path} <span className="soft">({folder.mode})</span>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      ) : null}
    </div>
  );
}

function Used({ use, workspace, run }: { use: DataUse; workspace: string; run: string }) {
  const { data: lineage } = useQuery(lineageOf(workspace, use.dataset));
  const name = use.dataset_name ? `${use.dataset_name}:${use.version}` : use.dataset.slice(0, 12);
  const others = (lineage?.runs ?? []).filter((each) => each.run !== run);
  const { files, size, kind } = lineage?.dataset ?? {};
  return (
    <section className="card" aria-label={`${use.role} ${use.name}`}>
      <h2>
        {use.role} {use.name}: {name} <span>{[kind, files != null ? counted(files, "file") : null, size != null ? bytes(size) : null].filter(Boolean).join(" · ")}</span>
      </h2>
      <Others title="Written by" uses={others.filter((each) => each.role === "wrote")} workspace={workspace} />
      <Others title="Also read by" uses={others.filter((each) => each.role !== "wrote")} workspace={workspace} />
      {(lineage?.models ?? []).map((model) => (
        <p key={`${model.model}:${model.model_version} ${model.purpose}`}>
          Model {model.model}:{model.model_version} <span className="soft">({model.purpose})</span>
        </p>
      ))}
      {lineage && others.length === 0 && (lineage.models ?? []).length === 0 ? <p className="soft">No other run or model uses it.</p> : null}
    </section>
  );
}

const MOST = 20;

function Others({ title, uses, workspace }: { title: string; uses: DataUse[]; workspace: string }) {
  if (uses.length === 0) return null;
  return (
    <p>
      {title}{" "}
      {uses.slice(0, MOST).map((use, index) => (
        <span key={`${use.run} ${use.name}`}>
          {index > 0 ? ", " : ""}
          <Link to="/w/$workspace/runs/$run" params={{ workspace, run: use.run }} search={{ tab: "data" }}>
            {use.run}
          </Link>
        </span>
      ))}
      {uses.length > MOST ? ` and ${uses.length - MOST} more` : ""}
    </p>
  );
}
