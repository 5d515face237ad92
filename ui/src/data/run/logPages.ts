/** A window of lines over a log of any size: pages are added at its ends and dropped at the other. Pure. */

export interface LogPage {
  path: string;
  size: number;
  /** Lines of the whole log. */
  lines: number;
  /** The number of the first line here, from 0. */
  first: number;
  offset: number;
  end: number;
  texts: string[];
  offsets: number[];
  times: (number | null)[];
}

export interface LogMatch {
  line: number;
  offset: number;
  text: string;
  start: number;
  end: number;
}

export interface LogMatches {
  path: string;
  size: number;
  matches: LogMatch[];
  next: number | null;
}

export interface LogLine {
  number: number;
  offset: number;
  text: string;
  time: number | null;
  isError: boolean;
}

const ERROR = /Traceback \(most recent call last\)|^[\w.]*(Error|Exception)\b|\b(ERROR|FATAL|CRITICAL)\b/;

/** So many lines are in the page at most. */
export const MOST_LINES = 3000;

export function linesOf(page: LogPage): LogLine[] {
  return page.texts.map((text, index) => ({
    number: page.first + index,
    offset: page.offsets[index] ?? page.offset,
    text,
    time: page.times[index] ?? null,
    isError: ERROR.test(text),
  }));
}

export interface LogWindow {
  lines: LogLine[];
  /** The bytes that the window covers. */
  offset: number;
  end: number;
  size: number;
  total: number;
}

export function windowOf(page: LogPage): LogWindow {
  return { lines: linesOf(page), offset: page.offset, end: page.end, size: page.size, total: page.lines };
}

/** Add the lines that follow. The last line of the window may have grown meanwhile: then it is part of the page. */
export function withLater(before: LogWindow, page: LogPage): LogWindow {
  const kept = before.lines.filter((line) => line.offset < page.offset);
  const lines = [...kept, ...linesOf(page)].slice(-MOST_LINES);
  return { lines, offset: lines[0]?.offset ?? page.offset, end: Math.max(before.end, page.end), size: page.size, total: page.lines };
}

export function withEarlier(before: LogWindow, page: LogPage): LogWindow {
  const lines = [...linesOf(page).filter((line) => line.offset < before.offset), ...before.lines].slice(0, MOST_LINES);
  const isCut = lines.at(-1)?.offset !== before.lines.at(-1)?.offset;
  const after = before.lines.find((line) => line.offset > (lines.at(-1)?.offset ?? 0));
  return { lines, offset: page.offset, end: isCut && after ? after.offset : before.end, size: page.size, total: page.lines };
}

/** Where to ask on. At the end of the log it is the last line again, which can have grown. */
export function continuation(window: LogWindow): number {
  return isAtEnd(window) ? (window.lines.at(-1)?.offset ?? window.end) : window.end;
}

export function isAtEnd(window: LogWindow): boolean {
  return window.end >= window.size;
}

const RANK = /(?:std_log_process_|rank_?)(\d+)/;

/** A log as people name it: the rank, or the file. */
export function logTitle(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1).replace(/\.(txt|log)$/, "");
  const rank = RANK.exec(name)?.[1];
  if (rank !== undefined) return `rank ${Number(rank)}`;
  if (name === "std_log") return "rank 0";
  return path;
}

const LOGS = /^(azureml-logs|user_logs|system_logs|logs)\//;

/** The logs among the files of a run: those of the ranks first. */
export function logsOf<File extends { path: string }>(files: File[]): File[] {
  const order = (path: string) => (path.startsWith("user_logs/") ? 0 : path.startsWith("logs/") ? 1 : path.startsWith("azureml-logs/") ? 2 : 3);
  return files
    .filter(({ path }) => LOGS.test(path) && !path.endsWith(".diff"))
    .sort((a, b) => order(a.path) - order(b.path) || a.path.localeCompare(b.path, "en", { numeric: true }));
}

/** The log of the rank that failed first, then the others. */
export function firstToFail<File extends { path: string }>(logs: File[], rank: number | null | undefined): File[] {
  const isFirst = (log: File) => rank != null && log.path.startsWith("user_logs/") && logTitle(log.path) === `rank ${rank}`;
  return [...logs].sort((a, b) => Number(isFirst(b)) - Number(isFirst(a)));
}
