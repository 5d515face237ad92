/** Files as tables. Pure. */

export interface Table {
  columns: string[];
  rows: string[][];
}

/** Read CSV as RFC 4180 has it; the separator is the most frequent of the first line. */
export function parseCsv(text: string, most: number): Table {
  const firstLine = text.slice(0, text.search(/\r?\n|$/));
  const separator = [",", ";", "\t"].reduce((best, each) => (firstLine.split(each).length > firstLine.split(best).length ? each : best));
  const rows: string[][] = [];
  let row: string[] = [];
  let field = "";
  let isQuoted = false;
  const endRow = () => {
    row.push(field);
    if (row.length > 1 || field !== "") rows.push(row);
    row = [];
    field = "";
  };
  for (let at = text.startsWith("\ufeff") ? 1 : 0; at < text.length && rows.length <= most; at += 1) {
    const sign = text.charAt(at);
    if (isQuoted) {
      if (sign !== '"') field += sign;
      else if (text.charAt(at + 1) === '"') {
        field += sign;
        at += 1;
      } else isQuoted = false;
    } else if (sign === '"' && field === "") isQuoted = true;
    else if (sign === separator) {
      row.push(field);
      field = "";
    } else if (sign === "\n") endRow();
    else if (sign !== "\r") field += sign;
  }
  if (field !== "" || row.length > 0) endRow();
  const [columns = [], ...rest] = rows;
  return { columns, rows: rest.slice(0, most) };
}

/** Values of Parquet files as text. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (typeof value === "object") return JSON.stringify(value, (_, each) => (typeof each === "bigint" ? each.toString() : each));
  return String(value);
}

export type FileKind = "image" | "audio" | "video" | "csv" | "parquet" | "json" | "notebook" | "markdown" | "text";

const KINDS: Record<string, [FileKind, string]> = {
  png: ["image", "image/png"], jpg: ["image", "image/jpeg"], jpeg: ["image", "image/jpeg"], gif: ["image", "image/gif"], webp: ["image", "image/webp"],
  mp3: ["audio", "audio/mpeg"], wav: ["audio", "audio/wav"], ogg: ["audio", "audio/ogg"], flac: ["audio", "audio/flac"], m4a: ["audio", "audio/mp4"],
  mp4: ["video", "video/mp4"], webm: ["video", "video/webm"], csv: ["csv", ""], tsv: ["csv", ""], parquet: ["parquet", ""], json: ["json", ""],
  ipynb: ["notebook", ""], md: ["markdown", ""],
};

/** What a file is shown as. HTML, SVG and everything else is text: it could run as a page. */
export function kindOf(path: string): { kind: FileKind; type: string } {
  const [kind, type] = KINDS[path.slice(path.lastIndexOf(".") + 1).toLowerCase()] ?? ["text", ""];
  return { kind, type };
}
