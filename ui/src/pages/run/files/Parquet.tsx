import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { parquetMetadataAsync, parquetReadObjects, parquetSchema } from "hyparquet";
import { useState } from "react";
import type { FileViewOutput as FileView } from "../../../api/types.gen";
import { readFile } from "../../../data/queries";
import { cellText } from "../../../data/run/tables";
import { ProblemNote } from "../../../parts/ProblemNote";
import { DataTable } from "./DataTable";

const ROWS = 100;

/** Rows of a Parquet file, page by page: only the bytes of the shown rows are read. */
export function Parquet({ run, file }: { run: string; file: FileView }) {
  const [start, setStart] = useState(0);
  const { data, error } = useQuery({
    queryKey: ["run", run, "parquet", file.path, file.digest ?? file.size, start],
    queryFn: () => readRows(run, file, start),
    placeholderData: keepPreviousData,
    retry: false,
    gcTime: 60_000,
  });
  if (error) return <ProblemNote error={error} />;
  if (!data) return <p className="soft">Loading …</p>;
  const end = Math.min(data.total, start + ROWS);
  return (
    <>
      <DataTable label="Rows" table={data} />
      <div className="tools">
        <button type="button" disabled={start === 0} onClick={() => setStart(start - ROWS)}>
          Earlier rows
        </button>
        <span className="soft">
          {(data.total === 0 ? 0 : start + 1).toLocaleString("en")} to {end.toLocaleString("en")} of {data.total.toLocaleString("en")} rows
        </span>
        <button type="button" disabled={end >= data.total} onClick={() => setStart(end)}>
          Later rows
        </button>
      </div>
    </>
  );
}

async function readRows(run: string, file: FileView, rowStart: number) {
  const source = {
    byteLength: file.size,
    slice: async (from: number, to = file.size) => (await readFile(run, file.path, { offset: from, limit: to - from })).arrayBuffer(),
  };
  const metadata = await parquetMetadataAsync(source);
  const total = Number(metadata.num_rows);
  const columns = parquetSchema(metadata).children.map((child) => child.element.name);
  const rows = await parquetReadObjects({ file: source, metadata, rowStart, rowEnd: Math.min(total, rowStart + ROWS) });
  return { total, columns, rows: rows.map((row) => columns.map((name) => cellText(row[name]))) };
}
