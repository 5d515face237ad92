import { useMutation, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { bytes, counted } from "../../data/format";
import { files as filesQuery } from "../../data/queries";
import { treeOf } from "../../data/run/compare";
import { readArchive } from "../../data/run/queries";
import { ProblemNote } from "../../parts/ProblemNote";
import { Preview } from "./files/Preview";
import { Tree } from "./files/Tree";
import type { RunPart } from "./part";
import { saveBlob, saveFile } from "./saveFile";

/** The files of a run, each with a preview; one by one or together. */
export function Files({ run, search, change }: RunPart) {
  const { data: files, error } = useQuery(filesQuery(run.id));
  const tree = useMemo(() => treeOf(files ?? []), [files]);
  const save = useMutation({ mutationFn: (path: string) => saveFile(run.id, path) });
  const saveAll = useMutation({ mutationFn: async () => saveBlob(await readArchive(run.id, "outputs/"), `${run.id}.zip`) });
  if (error) return <ProblemNote error={error} />;
  if (!files) return null;
  const chosen = files.find((file) => file.path === search.file);
  const outputs = files.filter((file) => file.path.startsWith("outputs/"));
  const problem = save.error ?? saveAll.error;
  return (
    <div className="columns files">
      <section aria-label="Files of the run">
        <div className="tools">
          <span className="soft">
            {counted(files.length, "file")}, {bytes(files.reduce((sum, file) => sum + file.size, 0))}
          </span>
          <span className="space" />
          <button type="button" disabled={saveAll.isPending || outputs.length === 0} onClick={() => saveAll.mutate()}>
            {saveAll.isPending ? "Packing …" : "Outputs as zip"}
          </button>
        </div>
        {problem ? <ProblemNote error={problem} /> : null}
        {files.length === 0 ? <p className="soft">No file yet. What the script writes to ./outputs appears here when it ends.</p> : null}
        <Tree folder={tree} chosen={search.file} onOpen={(file) => change({ file })} onSave={(path) => save.mutate(path)} />
      </section>
      {chosen ? <Preview key={chosen.path} run={run.id} file={chosen} /> : <p className="soft">Choose a file to see it.</p>}
    </div>
  );
}
