import { useQuery } from "@tanstack/react-query";
import type { FileViewOutput as FileView, RunView } from "../../api/types.gen";
import { bytes, counted } from "../../data/format";
import { files as filesQuery } from "../../data/queries";
import type { RunSearch } from "../../routes";
import { Preview } from "./Preview";
import { saveFile } from "./saveFile";

interface Props {
  run: RunView;
  search: RunSearch;
  onChange: (part: Partial<RunSearch>) => void;
}

export function Files({ run, search, onChange }: Props) {
  const { data: files = [] } = useQuery(filesQuery(run.id));
  const chosen = files.find((file) => file.path === search.file);
  return (
    <div className="columns files">
      <section>
        <p className="soft">{counted(files.length, "file")}</p>
        <ul className="plain">
          {files.map((file) => (
            <Row key={file.path} run={run.id} file={file} isChosen={file === chosen} onOpen={() => onChange({ file: file.path })} />
          ))}
        </ul>
      </section>
      {chosen ? <Preview key={chosen.path} run={run.id} file={chosen} /> : <p className="soft">Choose a file to see it.</p>}
    </div>
  );
}

function Row({ run, file, isChosen, onOpen }: { run: string; file: FileView; isChosen: boolean; onOpen: () => void }) {
  return (
    <li className={isChosen ? "chosen" : undefined}>
      <button type="button" className="quiet" aria-pressed={isChosen} onClick={onOpen}>
        {file.path}
      </button>
      <span className="space" />
      <span className="soft">{bytes(file.size)}</span>
      <button type="button" className="quiet" aria-label={`Download ${file.path}`} onClick={() => saveFile(run, file.path)}>
        ↓
      </button>
    </li>
  );
}
