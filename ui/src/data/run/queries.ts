/** Server state that only the page of a run needs. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { findPoint, getLineage, getLockOfRun, listDatasetsOfRun } from "../../api/sdk.gen";
import { sessionHeaders } from "../session";
import type { LogMatches, LogPage } from "./logPages";
import type { Moment } from "./search";

/** Content by its digest, such as a file of a snapshot. */
export async function readBlob(digest: string): Promise<Blob> {
  const response = await fetch(`/api/v1/blobs/${encodeURIComponent(digest)}`, { headers: sessionHeaders() });
  if (!response.ok) throw await response.json();
  return response.blob();
}

export function lockOf(run: string) {
  return queryOptions({ queryKey: ["lock", run], queryFn: async () => (await getLockOfRun({ path: { run } })).data, retry: false });
}

export function dataOf(run: string) {
  return queryOptions({ queryKey: ["run", run, "datasets"], queryFn: async () => (await listDatasetsOfRun({ path: { run } })).data.items });
}

export function lineageOf(workspace: string, id: string) {
  return queryOptions({ queryKey: ["lineage", workspace, id], queryFn: async () => (await getLineage({ path: { workspace, id } })).data });
}

/** Files of a run, packed by the server. */
export async function readArchive(run: string, prefix: string): Promise<Blob> {
  const query = new URLSearchParams({ prefix });
  const response = await fetch(`/api/v1/runs/${encodeURIComponent(run)}/archive?${query}`, { headers: sessionHeaders() });
  if (!response.ok) throw await response.json();
  return response.blob();
}

/** The generated client encodes the slashes of a path, and a path is not decoded twice. */
async function getJson<Answer>(path: string, query: object, signal?: AbortSignal): Promise<Answer> {
  const words = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
  const response = await fetch(`/api/v1${path}?${new URLSearchParams(words)}`, { headers: sessionHeaders(), signal });
  const answer = await response.json();
  if (!response.ok) throw answer;
  return answer as Answer;
}

function inside(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

export type LogPlace = ({ line: number } | { offset: number; back?: boolean } | { time: number; back?: boolean } | object) & { limit: number };

/** Lines of a log around a line, a byte or a time; without one of them, its last lines. */
export async function readLines(run: string, path: string, place: LogPlace, signal?: AbortSignal): Promise<LogPage> {
  return getJson(`/runs/${encodeURIComponent(run)}/log-lines/${inside(path)}`, place, signal);
}

const MATCHES = 200;
const MOST_SLICES = 50;

/** The server searches for a while at a time: go on until there is something to show. */
async function searchFrom(run: string, path: string, query: LogQuery, offset: number, signal?: AbortSignal): Promise<LogMatches> {
  let at = offset;
  for (let slice = 0; ; slice += 1) {
    const data: LogMatches = await getJson(`/runs/${encodeURIComponent(run)}/log-search/${inside(path)}`, { ...query, offset: at }, signal);
    if (data.matches.length > 0 || data.next === null || slice >= MOST_SLICES) return data;
    at = data.next;
  }
}

interface LogQuery {
  pattern?: string;
  mode: "text" | "regex" | "errors";
  limit: number;
}

export function logMatches(run: string, path: string, size: number, pattern: string, isRegex: boolean) {
  const query: LogQuery = { pattern, mode: isRegex ? "regex" : "text", limit: MATCHES };
  return infiniteQueryOptions({
    queryKey: ["log matches", run, path, pattern, isRegex, size > 0],
    queryFn: ({ pageParam, signal }) => searchFrom(run, path, query, pageParam, signal),
    initialPageParam: 0,
    getNextPageParam: (page) => page.next,
    retry: false,
    gcTime: 60_000,
  });
}

/** The first error in these logs, as the file and the line to show. */
export async function firstError(run: string, paths: string[]): Promise<{ file: string; line: number } | null> {
  for (const file of paths) {
    const { matches } = await searchFrom(run, file, { mode: "errors", limit: 1 }, 0);
    if (matches[0]) return { file, line: matches[0].line + 1 };
  }
  return null;
}

/** The time of a moment: curves over steps know none. */
export function timeOf(run: string, moment: Moment | null) {
  return queryOptions({
    queryKey: ["moment", run, moment],
    queryFn: async () => {
      if (!moment) return null;
      const query = { name: moment.name, ...(moment.axis === "step" ? { step: moment.x } : { seconds: moment.x }) };
      return moment.axis === "time" ? moment.x : (await findPoint({ path: { run }, query })).data.time;
    },
    enabled: moment !== null,
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  });
}

const MOST_LOGS = 16;

/** The lines before and after a time, of each log. */
export function linesAt(run: string, paths: string[], time: number | null) {
  return queryOptions({
    queryKey: ["moment lines", run, paths, time],
    queryFn: async ({ signal }) => {
      const sides = paths.slice(0, MOST_LOGS).flatMap((path) => [true, false].map((back) => readLines(run, path, { time: time ?? 0, back, limit: 10 }, signal)));
      return Promise.all(sides);
    },
    enabled: time !== null && paths.length > 0,
    placeholderData: keepPreviousData,
  });
}
