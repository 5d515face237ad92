import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo, useRef } from "react";
import type { RunView } from "../../api/types.gen";
import type { Row } from "../../data/rows";
import { selectedViews } from "../../data/runQueries";
import { between, deselect, select, selectedRuns } from "../../data/selection";
import type { RunsView } from "./useRunsView";

/** The selected runs: by click, with Shift from the last one, or all that are loaded. The address holds them. */
export function useSelection({ workspace, selection, change }: RunsView, rows: Row[]) {
  const latest = useRef({ selection, rows });
  latest.current = { selection, rows };
  const anchor = useRef("");

  const onToggle = useCallback(
    (run: string, isRange: boolean) => {
      const { selection: before, rows: shown } = latest.current;
      const ids = shown.map((row) => row.run.id);
      const isSelected = before.includes(run);
      const range = isRange ? between(ids, anchor.current, run) : [run];
      anchor.current = run;
      const after = isSelected && !isRange ? deselect(before, range) : select(before, range);
      change({ selected: after.length > 0 ? after : undefined });
    },
    [change],
  );
  const onClear = useCallback(() => change({ selected: undefined }), [change]);

  function onToggleAll() {
    const ids = rows.map((row) => row.run.id);
    const all = ids.every((run) => selection.includes(run));
    const after = all ? deselect(selection, ids) : select(selection, ids);
    change({ selected: after.length > 0 ? after : undefined });
  }

  const ids = useMemo(() => selectedRuns(selection), [selection]);
  const loaded = useMemo(() => new Map(rows.map(({ run }) => [run.id, run])), [rows]);
  const missing = useMemo(() => ids.filter((run) => !loaded.has(run)), [ids, loaded]);
  // Runs that the address names and the table does not show at the moment.
  const { data: others } = useQuery({ ...selectedViews(workspace, missing), enabled: missing.length > 0 });
  const chosen = useMemo(() => {
    const known = new Map([...(missing.length > 0 ? (others ?? []) : []).map((run): [string, RunView] => [run.id, run]), ...loaded]);
    return ids.map((run) => known.get(run)).filter((run) => run !== undefined);
  }, [ids, loaded, missing, others]);
  return { onToggle, onToggleAll, onClear, chosen };
}
