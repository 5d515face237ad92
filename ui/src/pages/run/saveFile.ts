import { readFile } from "../../data/queries";

/** Download a file of a run under its own name. */
export async function saveFile(run: string, path: string): Promise<void> {
  saveBlob(await readFile(run, path), path.slice(path.lastIndexOf("/") + 1));
}

export function saveBlob(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
