/**
 * Rows of the tables of runs, live. Runs that change are read alone and replaced where they stand, so that a table of
 * thousands of loaded runs costs no more than one; only new runs make the beginning of a table be read again.
 */
import type { InfiniteData, Query, QueryClient } from "@tanstack/react-query";
import { listRuns } from "../api/sdk.gen";
import type { RunView, RunViewPage } from "../api/types.gen";
import { quote } from "./filterText";
import { filterOf, type RunsRequest } from "./runQueries";

type Pages = InfiniteData<RunViewPage, string | null>;

interface Changed {
  runs: Set<string>;
  metrics: Set<string>;
}

const PAUSE_MILLISECONDS = 1000;
const MOST_SINGLE = 20;
/** A table of more pages is not read again as a whole. */
const MOST_PAGES = 4;
const waiting = new Map<string, Changed>();

/** Renew these runs soon: changes within a second are read once. New metrics matter only to runs that are shown. */
export function renewRuns(queries: QueryClient, workspace: string, runs: string[], metrics: string[]): void {
  if (runs.length + metrics.length === 0) return;
  const pending = waiting.get(workspace);
  const changed = pending ?? { runs: new Set<string>(), metrics: new Set<string>() };
  for (const run of runs) changed.runs.add(run);
  for (const run of metrics) changed.metrics.add(run);
  if (pending) return;
  waiting.set(workspace, changed);
  setTimeout(() => {
    waiting.delete(workspace);
    void renew(queries, workspace, changed);
  }, PAUSE_MILLISECONDS);
}

async function renew(queries: QueryClient, workspace: string, changed: Changed): Promise<void> {
  const tables = queries.getQueryCache().findAll({ queryKey: ["runs", workspace, "list"], type: "active" });
  const parts = changed.runs.size > 0 ? ["count", "groups", "children", "find", "names", "default-names"] : ["groups", "children", "default-names"];
  await Promise.all([
    ...tables.map((table) => renewTable(queries, workspace, table as unknown as Query<Pages>, changed)),
    ...parts.map((part) => queries.invalidateQueries({ queryKey: ["runs", workspace, part] })),
    queries.invalidateQueries({ queryKey: ["runs", workspace, "list"], type: "inactive", refetchType: "none" }),
  ]);
}

async function renewTable(queries: QueryClient, workspace: string, table: Query<Pages>, changed: Changed): Promise<void> {
  const key = table.queryKey;
  const pages = table.state.data;
  const request = key[3] as RunsRequest;
  const shown = new Set(pages?.pages.flatMap((page) => page.items.map((run) => run.id)));
  const known = [...changed.runs, ...changed.metrics].filter((run) => shown.has(run));
  const hasNew = [...changed.runs].some((run) => !shown.has(run));
  if (!pages || (hasNew && pages.pages.length <= MOST_PAGES) || known.length > MOST_SINGLE) {
    await queries.invalidateQueries({ queryKey: key });
    return;
  }
  if (known.length > 0) {
    const views = await readRows(workspace, known, request);
    queries.setQueryData<Pages>(key, (before) => before && replaceRuns(before, views));
  }
  if (hasNew && request.order === "created" && !request.ascending) {
    const query = { ...filterOf(request), show: request.show, limit: MOST_SINGLE };
    const { data } = await listRuns({ path: { workspace }, query });
    queries.setQueryData<Pages>(key, (before) => before && prependRuns(before, data.items));
  }
}

async function readRows(workspace: string, runs: string[], request: RunsRequest): Promise<RunView[]> {
  const where = runs.map((run) => `id == ${quote(run)}`).join(" or ");
  const query = { where, parent: "any", show: request.show, limit: runs.length };
  return (await listRuns({ path: { workspace }, query })).data.items;
}

/** Return the pages with newer views of some runs; what did not change stays the same object. */
export function replaceRuns(pages: Pages, views: RunView[]): Pages {
  const byId = new Map(views.map((view) => [view.id, view]));
  return {
    ...pages,
    pages: pages.pages.map((page) =>
      page.items.some((run) => byId.has(run.id)) ? { ...page, items: page.items.map((run) => byId.get(run.id) ?? run) } : page,
    ),
  };
}

/** Return the pages with new runs before all others. */
export function prependRuns(pages: Pages, newest: RunView[]): Pages {
  const shown = new Set(pages.pages.flatMap((page) => page.items.map((run) => run.id)));
  const added = newest.filter((run) => !shown.has(run.id));
  const [first, ...others] = pages.pages;
  if (!first || added.length === 0) return pages;
  return { ...pages, pages: [{ ...first, items: [...added, ...first.items] }, ...others] };
}
