import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { FileViewOutput as FileView, RunView } from "../../api/types.gen";
import { bytes } from "../../data/format";
import { type LogLine, linesOf } from "../../data/logLines";
import { files as filesQuery, readFile } from "../../data/queries";
import { ProblemNote } from "../../parts/ProblemNote";
import type { RunSearch } from "../../data/run/search";
import { saveFile } from "./saveFile";

const LOGS = /^(azureml-logs|user_logs|system_logs|logs)\//;
const PAGE = 256 * 1024;

interface Props {
  run: RunView;
  search: RunSearch;
  change: (part: Partial<RunSearch>) => void;
}

/** The logs of all ranks and of the system: the end first, earlier parts on request, live while the run runs. */
export function Logs({ run, search, change }: Props) {
  const { data: files = [] } = useQuery(filesQuery(run.id));
  const logs = files.filter((file) => LOGS.test(file.path));
  const chosen = logs.find((file) => file.path === search.file) ?? logs.find((file) => file.path.includes("std_log")) ?? logs[0];
  if (!chosen) return <p className="page soft">No line has arrived yet.</p>;
  return (
    <div className="page">
      <div className="tools">
        <select aria-label="Log" value={chosen.path} onChange={(event) => change({ file: event.target.value })}>
          {logs.map((file) => (
            <option key={file.path} value={file.path}>
              {file.path}
            </option>
          ))}
        </select>
        <span className="soft">{bytes(chosen.size)}</span>
        <input aria-label="Find in this log" placeholder="Find" value={search.query ?? ""} onChange={(event) => change({ query: event.target.value || undefined })} />
        <span className="space" />
        <button type="button" onClick={() => saveFile(run.id, chosen.path)}>
          Download
        </button>
      </div>
      <LogText key={chosen.path} run={run.id} file={chosen} find={search.query ?? ""} />
    </div>
  );
}

function LogText({ run, file, find }: { run: string; file: FileView; find: string }) {
  const queries = useQueryClient();
  const end = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const [start, setStart] = useState(() => Math.max(0, file.size - PAGE));
  // The size is part of the key, and the part that was read before stays on the screen until the new one is there.
  const { data: text, error } = useQuery({
    queryKey: ["run", run, "log", file.path, start, file.size],
    queryFn: async () => (await readFile(run, file.path, { offset: start, limit: file.size - start })).text(),
    placeholderData: (before: string | undefined) => before,
  });
  const lines = text === undefined ? [] : linesOf(text, start > 0);
  const shown = find ? lines.filter((line) => line.text.toLowerCase().includes(find.toLowerCase())) : lines;
  useEffect(() => {
    if (follows.current && !find) end.current?.scrollIntoView({ block: "end" });
  }, [text, find]);
  useEffect(() => () => queries.removeQueries({ queryKey: ["run", run, "log", file.path] }), [queries, run, file.path]);

  if (error) return <ProblemNote error={error} />;
  return (
    // a region that scrolls must be reachable by keyboard
    <div
      className="log"
      role="log"
      aria-label={file.path}
      tabIndex={0}
      onScroll={({ currentTarget: box }) => {
        follows.current = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
      }}
    >
      {start > 0 ? (
        <button type="button" onClick={() => setStart(Math.max(0, start - 4 * PAGE))}>
          Show earlier lines ({bytes(start)} before)
        </button>
      ) : null}
      <ol start={1}>
        {shown.map((line) => (
          <Line key={line.offset} line={line} />
        ))}
      </ol>
      {find && shown.length === 0 ? <p className="soft">No line here contains “{find}”.</p> : null}
      <div ref={end} />
    </div>
  );
}

function Line({ line }: { line: LogLine }) {
  return <li className={line.isError ? "error" : undefined}>{line.text}</li>;
}
