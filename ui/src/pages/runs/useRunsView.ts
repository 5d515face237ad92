import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo } from "react";
import { defaultColumns, metricsOf } from "../../data/columns";
import { rememberColumns, rememberedColumns, rememberView } from "../../data/remembered";
import { defaultNames } from "../../data/runQueries";
import type { RunsSearch } from "../../data/runsSearch";

const route = getRouteApi("/signed-in/w/$workspace/runs");
const NOTHING = { metrics: [], params: [] };
const NO_WIDTHS: Record<string, number> = {};
const NO_RUNS: string[] = [];

export type ChangeView = (part: Partial<RunsSearch>, how?: { isStep?: boolean }) => void;

/**
 * The view that the address holds. An address without columns gets those that this browser remembers, else those of
 * the first runs; from then on a new run does not change them.
 */
export function useRunsView() {
  const { workspace } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const remembered = useMemo(() => rememberedColumns(workspace), [workspace]);
  const chosen = search.columns ?? remembered.columns;
  const { data: names } = useQuery({ ...defaultNames(workspace), enabled: !chosen });
  const columns = useMemo(() => chosen ?? defaultColumns(names ?? NOTHING), [chosen, names]);
  const widths = search.widths ?? (search.columns ? NO_WIDTHS : (remembered.widths ?? NO_WIDTHS));

  /** A step is one that "back" undoes; other changes replace the address. */
  const change: ChangeView = useCallback(
    (part, { isStep = false } = {}) =>
      void navigate({
        search: (before) => ({ ...before, ...part }),
        replace: !isStep,
        resetScroll: false,
      }),
    [navigate],
  );

  const isArranged = chosen !== undefined || (names !== undefined && names.metrics.length > 0);
  const isWritten = search.columns !== undefined;
  useEffect(() => {
    if (isArranged && !isWritten) change({ columns, widths: Object.keys(widths).length > 0 ? widths : undefined });
  }, [isArranged, isWritten, columns, widths, change]);
  useEffect(() => {
    if (search.columns) rememberColumns(workspace, search);
    rememberView(workspace, search);
  }, [workspace, search]);

  const show = useMemo(() => metricsOf(columns), [columns]);
  return {
    workspace,
    search,
    columns,
    widths,
    show,
    change,
    where: search.where ?? "",
    order: search.order ?? "created",
    ascending: search.ascending ?? false,
    archived: search.archived ?? false,
    selection: search.selected ?? NO_RUNS,
    open: search.open ?? NO_RUNS,
  };
}

export type RunsView = ReturnType<typeof useRunsView>;
