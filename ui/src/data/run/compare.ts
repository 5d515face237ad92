/** Environments side by side, and trees of files. Pure. */
import type { Lock } from "../../api/types.gen";

export interface Package {
  name: string;
  version: string;
  other: string | null;
}

const PIN = /^([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*(?:==\s*([^\s;\\]+)|@\s*(\S+))/;

/** What an environment holds: its packages, and the facts about its interpreter. */
export function packagesOf(lock: Lock): Map<string, string> {
  const found = new Map<string, string>();
  const { content } = lock;
  for (const fact of ["python", "interpreter", "platform", "image"]) if (typeof content[fact] === "string") found.set(`(${fact})`, content[fact]);
  for (const list of [content.packages, content.recipes]) {
    for (const { name, version } of Array.isArray(list) ? (list as { name: string; version: string }[]) : []) found.set(String(name), String(version));
  }
  for (const line of String(content.requirements ?? "").split("\n")) {
    const [, name, version, address] = PIN.exec(line) ?? [];
    if (name) found.set(name.toLowerCase().replace(/[-_.]+/g, "-"), version ?? address ?? "");
  }
  return found;
}

export interface Difference {
  name: string;
  before: string | null;
  after: string | null;
}

export function differences(before: Map<string, string>, after: Map<string, string>): Difference[] {
  const names = [...new Set([...before.keys(), ...after.keys()])].sort();
  return names
    .map((name) => ({ name, before: before.get(name) ?? null, after: after.get(name) ?? null }))
    .filter((each) => each.before !== each.after);
}

export interface SourceFile {
  path: string;
  size: number;
  digest: string;
}

/** The files of a snapshot, from its manifest. */
export function sourceFiles(manifest: { entries: [string, string, number, number, string][] }): SourceFile[] {
  return manifest.entries.filter(([, type]) => type === "f").map(([path, , , size, digest]) => ({ path, size, digest }));
}

export interface Folder {
  name: string;
  folders: Folder[];
  files: { path: string; size: number }[];
}

/** Paths as a tree, folders first. */
export function treeOf<File extends { path: string; size: number }>(files: File[]): Folder {
  const root: Folder = { name: "", folders: [], files: [] };
  const known = new Map<string, Folder>([["", root]]);
  const folderAt = (path: string): Folder => {
    const existing = known.get(path);
    if (existing) return existing;
    const at = path.lastIndexOf("/");
    const made: Folder = { name: path.slice(at + 1), folders: [], files: [] };
    known.set(path, made);
    folderAt(at < 0 ? "" : path.slice(0, at)).folders.push(made);
    return made;
  };
  for (const file of files) folderAt(file.path.includes("/") ? file.path.slice(0, file.path.lastIndexOf("/")) : "").files.push(file);
  return root;
}

export type DiffMark = "added" | "removed" | "place" | "file" | "same";

/** The lines of a unified diff, and what each of them is. */
export function diffLines(text: string): { mark: DiffMark; text: string }[] {
  return text.replace(/\n$/, "").split("\n").map((line) => ({ mark: markOf(line), text: line }));
}

function markOf(line: string): DiffMark {
  if (/^(diff |index |--- |\+\+\+ |new file|deleted file|similarity|rename )/.test(line)) return "file";
  if (line.startsWith("@@")) return "place";
  return line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "same";
}
