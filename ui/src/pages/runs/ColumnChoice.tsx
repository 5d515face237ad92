import { type ColumnName, FIELDS, shiftColumn, titleOf } from "../../data/columns";
import { NamePicker } from "./NamePicker";

interface Props {
  workspace: string;
  shown: ColumnName[];
  onChange: (columns: ColumnName[]) => void;
}

const ALL_FIELDS = Object.keys(FIELDS);
const labelOf = (column: ColumnName) => FIELDS[column] ?? column;

/** Which metrics, parameters, tags and fields are columns, and in which order. A new run never changes the choice. */
export function ColumnChoice({ workspace, shown, onChange }: Props) {
  return (
    <NamePicker
      workspace={workspace}
      label="Columns"
      fields={ALL_FIELDS}
      titleFor={labelOf}
      isChosen={(column) => shown.includes(column)}
      onChoose={(column) => onChange(shown.includes(column) ? shown.filter((each) => each !== column) : [...shown, column])}
    >
      <ol className="plain arranged" aria-label="Shown columns">
        {shown.map((column, index) => (
          <li key={column}>
            <span title={column}>{column.startsWith("curve(") ? `${titleOf(column)} curve` : labelOf(column)}</span>
            <button type="button" className="quiet" aria-label={`Move ${column} left`} disabled={index === 0} onClick={() => onChange(shiftColumn(shown, column, -1))}>
              ↑
            </button>
            <button type="button" className="quiet" aria-label={`Move ${column} right`} disabled={index === shown.length - 1} onClick={() => onChange(shiftColumn(shown, column, 1))}>
              ↓
            </button>
            <button type="button" className="quiet" aria-label={`Remove ${column}`} onClick={() => onChange(shown.filter((each) => each !== column))}>
              ×
            </button>
          </li>
        ))}
      </ol>
    </NamePicker>
  );
}
