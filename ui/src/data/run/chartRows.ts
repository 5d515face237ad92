/** Charts as the rows of a page: pinned ones first, then groups by the prefix of their names. Pure. */

export type ChartRow =
  | { kind: "group"; id: string; title: string; count: number; isOpen: boolean }
  | { kind: "charts"; id: string; names: string[] };

interface Choice {
  find?: string;
  pinned?: string[];
  closed?: string[];
}

const PINNED = "Pinned";
const OTHERS = "Other metrics";

/** `train/loss` belongs to `train`; names without a prefix stand together. */
export function prefixOf(name: string): string {
  const at = name.indexOf("/");
  return at > 0 ? name.slice(0, at) : OTHERS;
}

export function matching(names: string[], find: string | undefined): string[] {
  const words = (find ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  return names.filter((name) => words.every((word) => name.toLowerCase().includes(word)));
}

/** Return the rows for so many charts per row. A single group needs no title. */
export function chartRows(names: string[], choice: Choice, perRow: number, groupOf = prefixOf): ChartRow[] {
  const shown = matching(names, choice.find);
  const pinned = (choice.pinned ?? []).filter((name) => shown.includes(name));
  const groups = new Map<string, string[]>();
  if (pinned.length > 0) groups.set(PINNED, pinned);
  const free = new Set(pinned);
  for (const name of shown) {
    if (free.has(name)) continue;
    const group = groupOf(name);
    const members = groups.get(group);
    if (members) members.push(name);
    else groups.set(group, [name]);
  }
  if (groups.size === 1) return pieces([...groups.values()].flat(), perRow, "");
  return [...groups].flatMap(([title, members]) => {
    const isOpen = !choice.closed?.includes(title);
    const head: ChartRow = { kind: "group", id: `group ${title}`, title, count: members.length, isOpen };
    return isOpen ? [head, ...pieces(members, perRow, title)] : [head];
  });
}

function pieces(names: string[], perRow: number, group: string): ChartRow[] {
  const rows: ChartRow[] = [];
  for (let at = 0; at < names.length; at += perRow) {
    const part = names.slice(at, at + perRow);
    rows.push({ kind: "charts", id: `${group} ${part[0]}`, names: part });
  }
  return rows;
}

export function toggled(list: string[] | undefined, item: string): string[] | undefined {
  const rest = (list ?? []).filter((each) => each !== item);
  const result = rest.length === (list ?? []).length ? [...rest, item] : rest;
  return result.length > 0 ? result : undefined;
}
