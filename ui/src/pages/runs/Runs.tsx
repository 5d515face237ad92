import { useInfiniteQuery, useQueries } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import type { RunView } from "../../api/types.gen";
import { useChanges } from "../../data/changes";
import { namesOf } from "../../data/columns";
import { useActions } from "../../data/pageActions";
import { rowsOf } from "../../data/rows";
import { useLeavingRuns } from "../../data/runActions";
import { childRuns, runs as runsQuery } from "../../data/runQueries";
import { useHeldWhileHovered } from "./useHeldWhileHovered";
import { ProblemNote } from "../../parts/ProblemNote";
import { BulkBar } from "./BulkBar";
import { ChosenCurves } from "./ChosenCurves";
import { ColumnChoice } from "./ColumnChoice";
import { Filters } from "./Filters";
import { FirstRun } from "./FirstRun";
import { GroupsTable } from "./GroupsTable";
import { LiveCounts } from "./LiveCounts";
import { NamePicker } from "./NamePicker";
import { RunsTable } from "./RunsTable";
import { useCountText } from "./useCountText";
import { useRunsView } from "./useRunsView";
import { useSelection } from "./useSelection";
import { Views } from "./Views";

const GROUP_KINDS: ("params" | "tags")[] = ["params", "tags"];

function combineChildren(results: { data?: RunView[] }[]): (RunView[] | undefined)[] {
  return results.map((result) => result.data);
}

export function Runs() {
  const view = useRunsView();
  const { workspace, search, columns, show, change, where, order, ascending, archived, selection, open } = view;
  useChanges(workspace);
  const isGrouped = search.group !== undefined;
  const request = { where, archived, order, ascending, show };
  const { data, error, isPlaceholderData, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery({
    ...runsQuery(workspace, request),
    enabled: !isGrouped,
  });
  const children = useQueries({
    queries: open.map((run) => childRuns(workspace, run, show, archived)),
    combine: combineChildren,
  });
  const leaving = useLeavingRuns();
  const loaded = useMemo(() => {
    const runs = data?.pages.flatMap((page) => page.items) ?? [];
    const all = rowsOf(runs, open, (run) => children[open.indexOf(run)] ?? []);
    return leaving.size === 0 ? all : all.filter(({ run }) => !leaving.has(run.id));
  }, [data, open, children, leaving]);
  // What was asked for is shown at once; only what changes by itself waits for the pointer to leave.
  const asked = JSON.stringify([workspace, request, isPlaceholderData, open, children.map((each) => each?.length), leaving.size]);
  const { rows, hover } = useHeldWhileHovered(loaded, asked);
  const { onToggle, onToggleAll, onClear, chosen } = useSelection(view, rows);
  const countText = useCountText(workspace, { where, archived });

  const onOpen = useCallback(
    (run: string) => {
      const others = open.filter((each) => each !== run);
      const opened = others.length < open.length ? others : [...open, run];
      change({ open: opened.length > 0 ? opened : undefined });
    },
    [open, change],
  );
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const showArchived = (shown: boolean) => change({ archived: shown || undefined, selected: undefined }, { isStep: true });
  const groupBy = (column: string | undefined) => change({ group: column, order: undefined, ascending: undefined }, { isStep: true });
  useActions([
    { label: archived ? "Show runs that are not archived" : "Show archived runs", act: () => showArchived(!archived) },
    { label: "Show failed runs", act: () => change({ where: "status == Failed" }, { isStep: true }) },
    { label: "Show running runs", act: () => change({ where: "status == Running" }, { isStep: true }) },
    ...(where ? [{ label: "Remove all filters", act: () => change({ where: undefined }, { isStep: true }) }] : []),
    ...(isGrouped ? [{ label: "Remove the grouping", act: () => groupBy(undefined) }] : []),
  ]);

  if (data && data.pages[0]?.items.length === 0 && !where && !archived) return <FirstRun />;
  return (
    <>
      <header className="top">
        <h1>Runs</h1>
        {selection.length > 0 ? <BulkBar runs={chosen} onClear={onClear} /> : <LiveCounts workspace={workspace} onShow={(text) => change({ where: text }, { isStep: true })} />}
        <span className="space" />
        <button type="button" aria-pressed={archived} onClick={() => showArchived(!archived)}>
          Archived
        </button>
        <NamePicker workspace={workspace} label="Group" kinds={GROUP_KINDS} onChoose={groupBy} />
        <ColumnChoice workspace={workspace} shown={columns} onChange={(chosenColumns) => change({ columns: chosenColumns }, { isStep: true })} />
      </header>
      <Views workspace={workspace} search={search} />
      <Filters
        workspace={workspace}
        where={where}
        group={search.group}
        archived={archived}
        count={countText}
        onWhere={(text) => change({ where: text || undefined }, { isStep: true })}
        onUngroup={() => groupBy(undefined)}
        onUnarchive={() => showArchived(false)}
      />
      {error ? <ProblemNote error={error} /> : null}
      <div className={selection.length > 0 ? "split" : "whole"} {...hover}>
        {search.group === undefined ? (
          <RunsTable
            view={view}
            rows={rows}
            isStale={isPlaceholderData}
            onToggle={onToggle}
            onToggleAll={rows.length > 0 ? onToggleAll : undefined}
            onOpen={onOpen}
            onEnd={onEnd}
          />
        ) : (
          <GroupsTable view={view} by={search.group} metrics={namesOf(columns)} />
        )}
        {selection.length > 0 ? <ChosenCurves workspace={workspace} runs={chosen} selection={selection} names={namesOf(columns)} search={search} change={change} /> : null}
      </div>
    </>
  );
}
