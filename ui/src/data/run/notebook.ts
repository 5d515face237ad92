/** Jupyter notebooks as a list of what they show. Pure. */

export interface Cell {
  kind: "markdown" | "code" | "raw";
  source: string;
  count: number | null;
  outputs: Output[];
}

export type Output = { kind: "text"; text: string } | { kind: "error"; text: string } | { kind: "image"; address: string };

const IMAGES = ["image/png", "image/jpeg", "image/gif"];

/** Return the cells; null for what is not a notebook. HTML and SVG of outputs are left out in favour of their text. */
export function cellsOf(text: string): Cell[] | null {
  try {
    const { cells } = JSON.parse(text) as { cells?: unknown };
    return Array.isArray(cells) ? cells.map(cellOf) : null;
  } catch {
    return null;
  }
}

function cellOf(raw: Record<string, unknown>): Cell {
  const kind = raw.cell_type === "markdown" || raw.cell_type === "code" ? raw.cell_type : "raw";
  const outputs = Array.isArray(raw.outputs) ? (raw.outputs as Record<string, unknown>[]).flatMap(outputOf) : [];
  return { kind, source: joined(raw.source), count: typeof raw.execution_count === "number" ? raw.execution_count : null, outputs };
}

function outputOf(raw: Record<string, unknown>): Output[] {
  if (raw.output_type === "stream") return [{ kind: "text", text: joined(raw.text) }];
  if (raw.output_type === "error") return [{ kind: "error", text: joined(raw.traceback, "\n") || `${raw.ename}: ${raw.evalue}` }];
  const data = (raw.data ?? {}) as Record<string, unknown>;
  const image = IMAGES.find((type) => type in data);
  if (image) return [{ kind: "image", address: `data:${image};base64,${joined(data[image]).replace(/\s/g, "")}` }];
  return "text/plain" in data ? [{ kind: "text", text: joined(data["text/plain"]) }] : [];
}

function joined(value: unknown, between = ""): string {
  return Array.isArray(value) ? value.map(String).join(between) : String(value ?? "");
}
