/** The view of a run's page, as its address holds it. Pure. */

export const TABS = ["overview", "charts", "logs", "hardware", "files", "code", "environment", "data", "story"] as const;
export type Tab = (typeof TABS)[number];
export type Axis = "step" | "time" | "relative";

export interface RunSearch {
  tab?: Tab;
  /** Charts: what is shown, and how. */
  axis?: Axis;
  smoothing?: number;
  log?: boolean;
  /** Leave outliers out of the range of y. */
  outliers?: boolean;
  ranks?: boolean;
  low?: number;
  high?: number;
  find?: string;
  pinned?: string[];
  closed?: string[];
  /** The moment: `step:120:loss`, `relative:3.5:loss` or `time:…:loss`. */
  at?: string;
  /** Logs and files. */
  file?: string;
  line?: number;
  query?: string;
  regex?: boolean;
  nowrap?: boolean;
  times?: boolean;
  /** Environment: the other run of the comparison. */
  other?: string;
}

const NUMBERS = ["smoothing", "low", "high", "line"] as const;
const FLAGS = ["log", "outliers", "ranks", "regex", "nowrap", "times"] as const;
const TEXTS = ["find", "at", "file", "query", "other"] as const;
const LISTS = ["pinned", "closed"] as const;

/** Return what an address says; parts that make no sense are left out. */
export function parseRunSearch(raw: Record<string, unknown>): RunSearch {
  const search: RunSearch = {};
  if (TABS.includes(raw.tab as Tab) && raw.tab !== "overview") search.tab = raw.tab as Tab;
  if (raw.axis === "time" || raw.axis === "relative") search.axis = raw.axis;
  for (const name of NUMBERS) if (typeof raw[name] === "number" && Number.isFinite(raw[name])) search[name] = raw[name];
  for (const name of FLAGS) if (raw[name] === true) search[name] = true;
  for (const name of TEXTS) if (isText(raw[name]) && String(raw[name]) !== "") search[name] = String(raw[name]);
  for (const name of LISTS) if (Array.isArray(raw[name]) && raw[name].length > 0) search[name] = raw[name].filter(isText).map(String);
  return search;
}

/** A number is a text, too: the router reads `find=1` as a number. */
function isText(value: unknown): value is string | number {
  return typeof value === "string" || typeof value === "number";
}

export interface Moment {
  axis: Axis;
  x: number;
  /** The curve that was clicked: it knows the time of a step. */
  name: string;
}

export function parseMoment(text: string | undefined): Moment | null {
  const [, axis, x, name] = /^(step|time|relative):([-+.e\d]+):(.+)$/s.exec(text ?? "") ?? [];
  return axis && name && x && Number.isFinite(Number(x)) ? { axis: axis as Axis, x: Number(x), name } : null;
}

export function momentText({ axis, x, name }: Moment): string {
  return `${axis}:${Number(x.toPrecision(16))}:${name}`;
}
