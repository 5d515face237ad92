import type { ColumnName } from "./columns";

interface Props {
  available: ColumnName[];
  shown: ColumnName[];
  onChange: (columns: ColumnName[]) => void;
}

/** Which metrics, parameters and tags are columns. A new run never changes the choice. */
export function ColumnChoice({ available, shown, onChange }: Props) {
  return (
    <details className="menu">
      <summary>Columns</summary>
      <div className="panel">
        {available.length === 0 ? <p className="soft">No run here has metrics, parameters or tags.</p> : null}
        {available.map((column) => (
          <label key={column}>
            <input
              type="checkbox"
              checked={shown.includes(column)}
              onChange={(event) => onChange(event.target.checked ? [...shown, column] : shown.filter((each) => each !== column))}
            />
            {column}
          </label>
        ))}
      </div>
    </details>
  );
}
