/** Server state: one function per query, with its key. Keys begin with what `changes` invalidates. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import {
  getMetricSummary,
  getRun,
  getSeries,
  getServer,
  getStory,
  listFiles,
  listRuns,
  listWorkspaces,
} from "../api/sdk.gen";
import type { SeriesGrid } from "../api/types.gen";
import { sessionHeaders } from "./session";

export const workspaces = queryOptions({
  queryKey: ["workspaces"],
  queryFn: async () => (await listWorkspaces()).data.items,
});

export const server = queryOptions({ queryKey: ["server"], queryFn: async () => (await getServer()).data });

export function run(id: string) {
  return queryOptions({ queryKey: ["run", id, "view"], queryFn: async () => (await getRun({ path: { run: id } })).data });
}

export function children(workspace: string, id: string) {
  return queryOptions({
    queryKey: ["runs", workspace, "children", id],
    queryFn: async () => (await listRuns({ path: { workspace }, query: { parent: id, show: ["*"], limit: 200 } })).data.items,
  });
}

export function story(id: string) {
  return queryOptions({ queryKey: ["run", id, "story"], queryFn: async () => (await getStory({ path: { run: id } })).data.items });
}

export function files(id: string) {
  return queryOptions({ queryKey: ["run", id, "files"], queryFn: async () => (await listFiles({ path: { run: id } })).data.items });
}

export function metricSummary(id: string) {
  return queryOptions({
    queryKey: ["metrics", id, "summary"],
    queryFn: async () => (await getMetricSummary({ path: { run: id } })).data.items,
    placeholderData: keepPreviousData,
  });
}

export interface SeriesRequest {
  runs: string[];
  names: string[];
  axis: "step" | "time" | "relative";
  low?: number;
  high?: number;
  pixels: number;
  system?: boolean;
  /** The weight of a moving average over all points. */
  smooth?: number;
  byRank?: boolean;
}

export function series(workspace: string, request: SeriesRequest) {
  const { runs: chosen, names, axis, low, high, pixels, system, smooth, byRank } = request;
  return queryOptions({
    queryKey: ["series", workspace, chosen, names, axis, low ?? null, high ?? null, pixels, system ?? false, smooth ?? 0, byRank ?? false],
    queryFn: async (): Promise<SeriesGrid> => {
      const query = { run: chosen, name: names, axis, low, high, pixels, system, smooth: smooth || undefined, by_rank: byRank || undefined };
      return (await getSeries({ path: { workspace }, query })).data;
    },
    enabled: chosen.length > 0 && names.length > 0,
    placeholderData: keepPreviousData,
  });
}

/** Bytes of a file of a run. They are fetched, because a plain link would not carry the secret of the session. */
export async function readFile(id: string, path: string, range?: { offset: number; limit: number }): Promise<Blob> {
  const query = range ? `?offset=${range.offset}&limit=${range.limit}` : "";
  const inside = path.split("/").map(encodeURIComponent).join("/");
  const response = await fetch(`/api/v1/runs/${encodeURIComponent(id)}/files/${inside}${query}`, { headers: sessionHeaders() });
  if (!response.ok) throw await response.json();
  return response.blob();
}
