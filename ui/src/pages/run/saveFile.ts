import { readFile } from "../../data/queries";

/** Download a file of a run under its own name. */
export async function saveFile(run: string, path: string): Promise<void> {
  const address = URL.createObjectURL(await readFile(run, path));
  const link = document.createElement("a");
  link.href = address;
  link.download = path.slice(path.lastIndexOf("/") + 1);
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
