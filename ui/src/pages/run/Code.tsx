import { useQuery } from "@tanstack/react-query";
import type { RunView } from "../../api/types.gen";
import { bytes, counted } from "../../data/format";
import { readFile } from "../../data/queries";
import { diffLines, type SourceFile, sourceFiles, treeOf } from "../../data/run/compare";
import { readBlob } from "../../data/run/queries";
import { ProblemNote } from "../../parts/ProblemNote";
import { Tree } from "./files/Tree";
import type { RunPart } from "./part";

const DIFF = "system_logs/uncommitted.diff";
const MOST = 512 * 1024;

/** The files that the run got, as they were, and what git did not have of them. */
export function Code({ run, search, change }: RunPart) {
  const { data: files, error } = useQuery({
    queryKey: ["snapshot", run.snapshot],
    queryFn: async () => sourceFiles(JSON.parse(await (await readBlob(run.snapshot ?? "")).text())),
    enabled: Boolean(run.snapshot),
    staleTime: Infinity,
  });
  if (!run.snapshot) return <p className="page soft">This run has no snapshot of its code.</p>;
  if (error) return <ProblemNote error={error} />;
  const chosen = files?.find((file) => file.path === search.file);
  return (
    <div className="columns files">
      <section aria-label="Files of the snapshot">
        <p className="soft">
          {files ? `${counted(files.length, "file")}, ${bytes(files.reduce((sum, file) => sum + file.size, 0))}` : "Loading …"} · snapshot{" "}
          <code>{run.snapshot.slice(0, 12)}</code>
        </p>
        <Tree folder={treeOf(files ?? [])} chosen={search.file} onOpen={(file) => change({ file })} />
      </section>
      {chosen ? <Source key={chosen.path} file={chosen} /> : <Uncommitted run={run} />}
    </div>
  );
}

function Source({ file }: { file: SourceFile }) {
  const { data: text, error } = useQuery({
    queryKey: ["blob", file.digest],
    queryFn: async () => (await readBlob(file.digest)).slice(0, MOST).text(),
    gcTime: 60_000,
  });
  if (error) return <ProblemNote error={error} />;
  return (
    <section className="card preview" aria-label={file.path}>
      <h2>
        {file.path} <span>{bytes(file.size)}</span>
      </h2>
      {text?.slice(0, 4096).includes("\u0000") ? <p className="soft">This file is not text.</p> : <ol className="source">{linesOf(text ?? "")}</ol>}
      {file.size > MOST ? <p className="soft">Only the first {bytes(MOST)} are shown.</p> : null}
    </section>
  );
}

function linesOf(text: string) {
  // lines have no other identity than their place
  return text.replace(/\n$/, "").split("\n").map((line, index) => <li key={index}>{line}</li>);
}

function Uncommitted({ run }: { run: RunView }) {
  const { data: text, isPending } = useQuery({
    queryKey: ["run", run.id, "uncommitted"],
    queryFn: async () => (await readFile(run.id, DIFF, { offset: 0, limit: MOST })).text(),
    retry: false,
    staleTime: Infinity,
  });
  const commit = run.properties?.["azureml.git.commit"];
  if (isPending) return null;
  if (!text) {
    const about = commit ? `The code is that of commit ${commit.slice(0, 10)}, without changes.` : "The source folder was not in a git repository.";
    return <p className="soft">{about} Choose a file to read it.</p>;
  }
  return (
    <section className="card preview" aria-label="Uncommitted changes">
      <h2>
        Uncommitted changes <span>{commit ? `since ${commit.slice(0, 10)}` : ""}</span>
      </h2>
      <pre className="diff">
        {diffLines(text).map((line, index) => (
          // as above
          <span key={index} className={line.mark}>
            {line.text}
            {"\n"}
          </span>
        ))}
      </pre>
    </section>
  );
}
