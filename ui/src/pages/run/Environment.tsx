import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Lock } from "../../api/types.gen";
import { counted } from "../../data/format";
import { differences, packagesOf } from "../../data/run/compare";
import { lockOf } from "../../data/run/queries";
import { ProblemNote } from "../../parts/ProblemNote";
import type { RunPart } from "./part";
import { Typed } from "./Typed";

/** The locked environment: each package with its version, and what is different in another run. */
export function Environment({ run, search, change }: RunPart) {
  const { data: lock, error } = useQuery({ ...lockOf(run.id), enabled: Boolean(run.lock) });
  if (!run.lock) return <p className="page soft">The environment of this run is not locked yet.</p>;
  if (error) return <ProblemNote error={error} />;
  return (
    <div className="page">
      <div className="tools">
        <span className="soft">
          {run.spec?.environment?.name} · {lock?.builder} · lock <code>{run.lock.slice(0, 12)}</code>
        </span>
        <span className="space" />
        <label>
          compare with <Typed label="Compare with another run" placeholder="id of a run" value={search.other ?? ""} onType={(other) => change({ other: other.trim() || undefined })} />
        </label>
      </div>
      {lock?.warnings?.map((warning) => (
        <p className="note waiting" key={warning}>
          {warning}
        </p>
      ))}
      {lock && search.other ? <Differences lock={lock} run={run.id} other={search.other} /> : null}
      {lock ? <Packages lock={lock} /> : null}
    </div>
  );
}

function Packages({ lock }: { lock: Lock }) {
  const [find, setFind] = useState("");
  const packages = [...packagesOf(lock)];
  const shown = packages.filter(([name]) => name.toLowerCase().includes(find.toLowerCase()));
  return (
    <section className="card" aria-label="Packages">
      <h2>
        Packages <span>{counted(packages.filter(([name]) => !name.startsWith("(")).length, "package")}</span>
      </h2>
      {packages.length > 20 ? <Typed label="Filter packages" placeholder="Filter by name" value={find} onType={setFind} /> : null}
      <table className="pairs">
        <tbody>
          {shown.map(([name, version]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{version}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {lock.builder === "existing" ? <p className="soft">An existing interpreter is used as it is; its packages are not locked.</p> : null}
    </section>
  );
}

function Differences({ lock, run, other }: { lock: Lock; run: string; other: string }) {
  const { data: second, error } = useQuery(lockOf(other));
  if (error) return <ProblemNote error={error} />;
  if (!second) return null;
  const changes = differences(packagesOf(second), packagesOf(lock));
  return (
    <section className="card" aria-label="Differences">
      <h2>
        Different from {other} <span>{counted(changes.length, "difference")}</span>
      </h2>
      {changes.length === 0 ? <p>{lock.digest === second.digest ? "Both runs have the same lock." : "The packages are the same; the locks differ otherwise."}</p> : null}
      {changes.length > 0 ? (
        <table>
          <thead>
            <tr>
              <th>Package</th>
              <th>{other}</th>
              <th>{run}</th>
            </tr>
          </thead>
          <tbody>
            {changes.map(({ name, before, after }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>{before ?? "–"}</td>
                <td>{after ?? "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : null}
    </section>
  );
}
