import { useMemo } from "react";
import { parseCsv, type Table } from "../../../data/run/tables";

const MOST = 1000;

/** Rows and columns of a file. */
export function DataTable({ label, table }: { label: string; table: Table }) {
  return (
    // a region that scrolls must be reachable by keyboard
    <div className="data-table" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {table.columns.map((name, index) => (
              // names can repeat
              <th key={index}>{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, index) => (
            // rows have no other identity
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column} className={cell !== "" && Number.isFinite(Number(cell)) ? "num" : undefined}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function CsvTable({ text }: { text: string }) {
  const table = useMemo(() => parseCsv(text, MOST), [text]);
  return (
    <>
      <DataTable label="Rows" table={table} />
      {table.rows.length === MOST ? <p className="soft">Only the first {MOST.toLocaleString("en")} rows are shown.</p> : null}
    </>
  );
}
