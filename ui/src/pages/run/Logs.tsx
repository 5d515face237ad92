import { useMutation, useQuery } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import { bytes } from "../../data/format";
import { files as filesQuery } from "../../data/queries";
import { firstToFail, logsOf, logTitle } from "../../data/run/logPages";
import { firstError } from "../../data/run/queries";
import { ProblemNote } from "../../parts/ProblemNote";
import { LogSearch } from "./logs/LogSearch";
import { LogView } from "./logs/LogView";
import type { RunPart } from "./part";
import { saveFile } from "./saveFile";
import { Typed } from "./Typed";

const NONE = new Set<number>();

/** The logs of all ranks and of the system, live. */
export function Logs({ run, search, change }: RunPart) {
  const { data: files, error } = useQuery(filesQuery(run.id));
  const [matches, setMatches] = useState<Set<number>>(NONE);
  const logs = logsOf(files ?? []);
  const chosen = logs.find((file) => file.path === search.file) ?? logs[0];
  const path = chosen?.path ?? "";
  const save = useMutation({ mutationFn: () => saveFile(run.id, path) });
  const jump = useMutation({
    mutationFn: () => firstError(run.id, firstToFail(logs, run.outcome?.cause?.rank).map((log) => log.path)),
    onSuccess: (found) => found && change(found),
  });
  const onLine = useCallback((line: number) => change({ file: path, line }), [change, path]);
  if (error) return <ProblemNote error={error} />;
  if (!chosen) return files ? <p className="page soft">No line has arrived yet.</p> : null;
  const problem = save.error ?? jump.error;
  return (
    <div className="page logs">
      <div className="tools">
        <select aria-label="Log" value={path} onChange={({ target }) => change({ file: target.value, line: undefined })}>
          {logs.map((file) => (
            <option key={file.path} value={file.path}>
              {logTitle(file.path)}
            </option>
          ))}
        </select>
        <Typed label="Search the log" placeholder="Search the whole log" value={search.query ?? ""} onType={(query) => change({ query: query || undefined, file: path })} />
        <Tick label="regex" isOn={search.regex ?? false} onTick={(isOn) => change({ regex: isOn || undefined })} />
        <button type="button" disabled={jump.isPending} onClick={() => jump.mutate()}>
          {jump.isSuccess && !jump.data ? "No error found" : "First error"}
        </button>
        <span className="space" />
        <Tick label="wrap" isOn={!search.nowrap} onTick={(isOn) => change({ nowrap: isOn ? undefined : true })} />
        <Tick label="times" isOn={search.times ?? false} onTick={(isOn) => change({ times: isOn || undefined })} />
        <button type="button" disabled={save.isPending} onClick={() => save.mutate()}>
          Download {bytes(chosen.size)}
        </button>
      </div>
      {problem ? <ProblemNote error={problem} /> : null}
      {search.query ? (
        <LogSearch
          run={run.id}
          path={path}
          size={chosen.size}
          pattern={search.query}
          isRegex={search.regex ?? false}
          chosen={search.line}
          onLine={onLine}
          onMatches={setMatches}
        />
      ) : null}
      <LogView
        key={path}
        run={run.id}
        path={path}
        size={chosen.size}
        line={search.line}
        isWrapped={!search.nowrap}
        hasTimes={search.times ?? false}
        matches={matches}
        onLine={onLine}
      />
    </div>
  );
}

function Tick({ label, isOn, onTick }: { label: string; isOn: boolean; onTick: (isOn: boolean) => void }) {
  return (
    <label>
      <input type="checkbox" checked={isOn} onChange={({ target }) => onTick(target.checked)} /> {label}
    </label>
  );
}
