import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { useChanges } from "../../data/changes";
import { counted } from "../../data/format";
import { type RunsFilter, runCount, runs as runsQuery } from "../../data/queries";
import { ProblemNote } from "../../parts/ProblemNote";
import type { RunsSearch } from "../../routes";
import { ChosenCurves } from "./ChosenCurves";
import { ColumnChoice } from "./ColumnChoice";
import { availableColumns, defaultColumns, titleOf } from "./columns";
import { Filters } from "./Filters";
import { FirstRun } from "./FirstRun";
import { RunsTable } from "./RunsTable";

const route = getRouteApi("/signed-in/w/$workspace/runs");

export function Runs() {
  const { workspace } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  useChanges(workspace);
  const { where = "", order = "created", ascending = false, archived = false, selected = [], axis = "step" } = search;
  const filter: RunsFilter = { where, order, ascending, archived };
  const { data, error, isPlaceholderData, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(runsQuery(workspace, filter));
  const { data: count } = useQuery(runCount(workspace, filter));
  const runs = useMemo(() => data?.pages.flatMap((page) => page.items) ?? [], [data]);
  const available = useMemo(() => availableColumns(runs), [runs]);
  const columns = search.columns ?? defaultColumns(available);
  const metrics = columns.filter((column) => column.startsWith("metrics.")).map(titleOf);

  const change = useCallback(
    (part: Partial<RunsSearch>) => navigate({ search: (before: RunsSearch) => ({ ...before, ...part }), replace: true }),
    [navigate],
  );
  const more = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);

  if (data && runs.length === 0 && !where) return <FirstRun />;
  return (
    <>
      <header className="top">
        <h1>Runs</h1>
        <span className="soft">{count ? `${counted(count.count, "run")}${count.more ? " and more" : ""}` : ""}</span>
        <span className="space" />
        <label className="soft">
          <input type="checkbox" checked={archived} onChange={(event) => change({ archived: event.target.checked || undefined })} /> archived
        </label>
        <ColumnChoice available={available} shown={columns} onChange={(chosen) => change({ columns: chosen })} />
      </header>
      <Filters where={where} onChange={(text) => change({ where: text || undefined })} />
      {error ? <ProblemNote error={error} /> : null}
      <div className={selected.length > 0 ? "split" : "whole"}>
        <RunsTable
          workspace={workspace}
          runs={runs}
          columns={columns}
          order={order}
          ascending={ascending}
          selected={selected}
          isStale={isPlaceholderData}
          onSort={(chosen) => change({ order: chosen, ascending: chosen === order ? !ascending : chosen !== "created" })}
          onSelect={(run, chosen) => {
            const others = selected.filter((each) => each !== run);
            const all = chosen ? [...others, run] : others;
            change({ selected: all.length > 0 ? all : undefined });
          }}
          onEnd={more}
        />
        {selected.length > 0 ? (
          <ChosenCurves workspace={workspace} runs={runs} selected={selected} names={metrics} axis={axis} smoothing={search.smoothing ?? 0} />
        ) : null}
      </div>
    </>
  );
}
