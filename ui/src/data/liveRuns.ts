/**
 * Rows of the table of runs, live. A run that changes is read alone and replaced where it stands, so that a table of
 * thousands of loaded runs costs no more than one; only runs that no table shows yet make the tables be read again.
 */
import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import { listRuns } from "../api/sdk.gen";
import type { RunView, RunViewPage } from "../api/types.gen";

type Pages = InfiniteData<RunViewPage, string | null>;

const PAUSE_MILLISECONDS = 1000;
const MOST_SINGLE = 20;
const waiting = new Map<string, Set<string>>();

/** Renew these runs soon: changes within a second are read once. */
export function renewRuns(queries: QueryClient, workspace: string, runs: string[]): void {
  if (runs.length === 0) return;
  const pending = waiting.get(workspace);
  if (pending) {
    for (const run of runs) pending.add(run);
    return;
  }
  const changed = new Set(runs);
  waiting.set(workspace, changed);
  setTimeout(() => {
    waiting.delete(workspace);
    void renew(queries, workspace, [...changed]);
  }, PAUSE_MILLISECONDS);
}

async function renew(queries: QueryClient, workspace: string, runs: string[]): Promise<void> {
  const tables = queries.getQueriesData<Pages>({ queryKey: ["runs", workspace, "list"] });
  const shown = new Set(tables.flatMap(([, pages]) => pages?.pages.flatMap((page) => page.items.map((run) => run.id)) ?? []));
  if (runs.length > MOST_SINGLE || runs.some((run) => !shown.has(run))) {
    await queries.invalidateQueries({ queryKey: ["runs", workspace] });
    return;
  }
  const views = await Promise.all(runs.map((run) => readRow(workspace, run)));
  const byId = new Map(views.filter((view) => view !== undefined).map((view) => [view.id, view]));
  queries.setQueriesData<Pages>({ queryKey: ["runs", workspace, "list"] }, (pages) => pages && replaceRuns(pages, byId));
  await queries.invalidateQueries({ queryKey: ["runs", workspace, "children"] });
}

async function readRow(workspace: string, run: string): Promise<RunView | undefined> {
  const { data } = await listRuns({ path: { workspace }, query: { where: `id == ${JSON.stringify(run)}`, parent: "any", show: ["*"], limit: 1 } });
  return data.items[0];
}

/** Return the pages with newer views of some runs; what did not change stays the same object. */
export function replaceRuns(pages: Pages, views: Map<string, RunView>): Pages {
  return {
    ...pages,
    pages: pages.pages.map((page) =>
      page.items.some((run) => views.has(run.id)) ? { ...page, items: page.items.map((run) => views.get(run.id) ?? run) } : page,
    ),
  };
}
