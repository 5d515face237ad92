/** Queries of the table of runs. The key of a list holds everything that it was read with (see `liveRuns`). */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { countRuns, groupRuns, listFieldNames, listRuns, listFieldValues } from "../api/sdk.gen";
import { quote } from "./filterText";

export interface RunsFilter {
  where: string;
  archived: boolean;
}

/** What a list was read with: `show` are the metrics whose values its rows have. */
export interface RunsRequest extends RunsFilter {
  order: string;
  ascending: boolean;
  show: string[];
}

export type NameKind = "metrics" | "params" | "tags";
export const NAME_KINDS: NameKind[] = ["metrics", "params", "tags"];

const FIRST_PAGE = 100;
const PAGE = 500;
const MOST_CHILDREN = 1000;
const MOST_NAMES = 20_000;
const COUNTED_UP_TO = 1_000_000;

/** A filter finds runs below other runs, too; without one, the table has the runs at the top. */
export function filterOf({ where, archived }: RunsFilter) {
  return { where: where || undefined, archived, parent: where ? "any" : "none" };
}

export function runs(workspace: string, request: RunsRequest) {
  return infiniteQueryOptions({
    queryKey: ["runs", workspace, "list", request] as const,
    queryFn: async ({ pageParam }) => {
      const { order, ascending, show } = request;
      const query = { ...filterOf(request), show, order, ascending, limit: pageParam ? PAGE : FIRST_PAGE, cursor: pageParam };
      return (await listRuns({ path: { workspace }, query })).data;
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
  });
}

export function runCount(workspace: string, filter: RunsFilter, status: string[] = []) {
  return queryOptions({
    queryKey: ["runs", workspace, "count", filter.where, filter.archived, status],
    queryFn: async () => {
      const query = { ...filterOf(filter), status, up_to: COUNTED_UP_TO };
      return (await countRuns({ path: { workspace }, query })).data;
    },
    placeholderData: keepPreviousData,
  });
}

export function childRuns(workspace: string, parent: string, show: string[], archived: boolean) {
  return queryOptions({
    queryKey: ["runs", workspace, "children", parent, show, archived],
    queryFn: async () => {
      const query = { parent, archived, show, ascending: true, limit: MOST_CHILDREN };
      return (await listRuns({ path: { workspace }, query })).data.items;
    },
    placeholderData: keepPreviousData,
  });
}

/** Runs by their ids. */
export function selectedViews(workspace: string, ids: string[]) {
  return queryOptions({
    queryKey: ["runs", workspace, "selected", ids],
    queryFn: async () => {
      const where = ids.map((id) => `id == ${quote(id)}`).join(" or ");
      return (await listRuns({ path: { workspace }, query: { where, parent: "any", limit: ids.length } })).data.items;
    },
    placeholderData: keepPreviousData,
  });
}

export function runGroups(workspace: string, filter: RunsFilter, by: string, show: string[]) {
  return queryOptions({
    queryKey: ["runs", workspace, "groups", filter, by, show],
    queryFn: async () => {
      const query = { ...filterOf(filter), by, show, limit: 1000 };
      return (await groupRuns({ path: { workspace }, query })).data.items;
    },
    placeholderData: keepPreviousData,
  });
}

/** All names of metrics, parameters or tags: read once when somebody wants to choose, and then searched here. */
export function runNames(workspace: string, kind: NameKind, limit = MOST_NAMES) {
  return queryOptions({
    queryKey: ["runs", workspace, "names", kind, limit],
    queryFn: async () => {
      const { data } = await listFieldNames({ path: { workspace }, query: { kind, limit } });
      return data.items.map(({ name }) => name);
    },
  });
}

/** The names that a table shows where nobody has chosen columns. */
export function defaultNames(workspace: string) {
  return queryOptions({
    queryKey: ["runs", workspace, "default-names"],
    queryFn: async () => {
      const names = async (kind: NameKind) => (await listFieldNames({ path: { workspace }, query: { kind, limit: 200 } })).data.items;
      const [metrics, params] = await Promise.all([names("metrics"), names("params")]);
      return { metrics: metrics.map(({ name }) => name), params: params.map(({ name }) => name) };
    },
  });
}

export function nameCompletions(workspace: string, kind: string, prefix: string) {
  return queryOptions({
    queryKey: ["runs", workspace, "names", kind, "beginning", prefix],
    queryFn: async () => {
      const query = { kind: kind as NameKind | "properties", prefix, limit: 20 };
      return (await listFieldNames({ path: { workspace }, query })).data.items.map(({ name }) => name);
    },
    placeholderData: keepPreviousData,
  });
}

export function runValues(workspace: string, field: string, prefix: string) {
  return queryOptions({
    queryKey: ["runs", workspace, "values", field, prefix],
    queryFn: async () => {
      const { data } = await listFieldValues({ path: { workspace }, query: { field, prefix, limit: 20 } });
      return data.items.map(({ value }) => value);
    },
    placeholderData: keepPreviousData,
    retry: false, // a field that is still being written is an error
  });
}

/** Runs whose name or id has a text, for jumping to one. */
export function findRuns(workspace: string, text: string) {
  return queryOptions({
    queryKey: ["runs", workspace, "find", text],
    queryFn: async () => {
      const where = text ? `name ~ ${quote(text)} or id ~ ${quote(text)}` : undefined;
      return (await listRuns({ path: { workspace }, query: { where, parent: "any", limit: 8 } })).data.items;
    },
    placeholderData: keepPreviousData,
  });
}
