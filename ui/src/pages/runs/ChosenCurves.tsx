import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { CurveView, RunView } from "../../api/types.gen";
import { nameOf } from "../../data/columns";
import { series } from "../../data/queries";
import type { RunsSearch } from "../../data/runsSearch";
import { Curve } from "../../parts/Curve";
import { colorOf } from "../../parts/colors";
import type { ChangeView } from "./useRunsView";

interface Props {
  workspace: string;
  runs: RunView[];
  selection: string[];
  names: string[];
  search: RunsSearch;
  change: ChangeView;
}

const MOST_RUNS = 30;
const MOST_NAMES = 12;
const AXES = ["step", "relative", "time"] as const;

/** The metrics of the selected runs, beside the table. */
export function ChosenCurves({ workspace, runs, selection, names, search, change }: Props) {
  const { axis = "step", smoothing = 0 } = search;
  const drawn = useMemo(() => runs.slice(0, MOST_RUNS), [runs]);
  const request = { runs: drawn.map((run) => run.id), names: names.slice(0, MOST_NAMES), axis, pixels: 360 };
  const { data: grid } = useQuery(series(workspace, request));
  const byName = useMemo(() => {
    const labels = new Map(drawn.map((run) => [run.id, nameOf(run)]));
    const lines = new Map<string, { view: CurveView; color: string; label: string }[]>();
    for (const view of grid?.curves ?? []) {
      const label = labels.get(view.run);
      if (label === undefined) continue;
      const line = { view, color: colorOf(selection.indexOf(view.run)), label };
      lines.set(view.name, [...(lines.get(view.name) ?? []), line]);
    }
    return lines;
  }, [grid, selection, drawn]);
  return (
    <aside className="side" aria-label="Curves of the selected runs">
      <div className="tools">
        <label className="soft">
          over{" "}
          <select value={axis} onChange={(event) => change({ axis: event.target.value as (typeof AXES)[number] })}>
            {AXES.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        <label className="soft">
          smoothing{" "}
          <input type="range" min={0} max={0.99} step={0.01} value={smoothing} onChange={(event) => change({ smoothing: Number(event.target.value) || undefined })} />
        </label>
      </div>
      {grid
        ? names
            .filter((name) => byName.has(name))
            .map((name) => {
              const curves = byName.get(name) ?? [];
              return (
                <section className="card" key={name}>
                  <h2>{name}</h2>
                  <Curve label={`${name} of ${curves.map((curve) => curve.label).join(", ")}`} grid={grid} curves={curves} smoothing={smoothing} />
                </section>
              );
            })
        : null}
      {runs.length > MOST_RUNS ? <p className="soft">Curves of the first {MOST_RUNS} selected runs.</p> : null}
      {names.length > MOST_NAMES ? <p className="soft">Curves of the first {MOST_NAMES} metrics of the columns.</p> : null}
      {names.length === 0 ? <p className="soft">Choose columns with metrics to see their curves.</p> : null}
      {grid && names.length > 0 && byName.size === 0 ? <p className="soft">The selected runs have no numbers under the shown metrics.</p> : null}
    </aside>
  );
}
