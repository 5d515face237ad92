import { bytes } from "../../../data/format";
import type { Folder } from "../../../data/run/compare";

interface Props {
  folder: Folder;
  chosen?: string;
  onOpen: (path: string) => void;
  onSave?: (path: string) => void;
}

const MOST = 500;

/** Files in their folders. */
export function Tree({ folder, chosen, onOpen, onSave }: Props) {
  return (
    <ul className="plain files tree">
      {folder.folders.map((inner) => (
        <li key={inner.name}>
          <details open={isSmall(inner) || undefined}>
            <summary>{inner.name}/</summary>
            <Tree folder={inner} chosen={chosen} onOpen={onOpen} onSave={onSave} />
          </details>
        </li>
      ))}
      {folder.files.slice(0, MOST).map(({ path, size }) => (
        <li key={path} className={path === chosen ? "file chosen" : "file"}>
          <button type="button" className="quiet name" aria-label={path} aria-pressed={path === chosen} onClick={() => onOpen(path)}>
            {path.slice(path.lastIndexOf("/") + 1)}
          </button>
          <span className="space" />
          <span className="soft">{bytes(size)}</span>
          {onSave ? (
            <button type="button" className="quiet" aria-label={`Download ${path}`} onClick={() => onSave(path)}>
              ↓
            </button>
          ) : null}
        </li>
      ))}
      {folder.files.length > MOST ? <li className="soft">and {(folder.files.length - MOST).toLocaleString("en")} more files: download them together</li> : null}
    </ul>
  );
}

function isSmall(folder: Folder): boolean {
  return folder.files.length + folder.folders.length <= 50;
}
