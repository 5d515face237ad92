import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { CurveView, RunView } from "../../api/types.gen";
import { series } from "../../data/queries";
import { Curve } from "../../parts/Curve";
import { colorOf } from "../../parts/colors";

interface Props {
  workspace: string;
  runs: RunView[];
  selected: string[];
  names: string[];
  axis: "step" | "time" | "relative";
  smoothing: number;
}

/** The metrics of the chosen runs, beside the table. */
export function ChosenCurves({ workspace, runs, selected, names, axis, smoothing }: Props) {
  const { data: grid } = useQuery(series(workspace, { runs: selected, names, axis, pixels: 360 }));
  const labels = useMemo(() => new Map(runs.map((run) => [run.id, run.display_name || run.id])), [runs]);
  const byName = useMemo(() => {
    const lines = new Map<string, { view: CurveView; color: string; label: string }[]>();
    for (const view of grid?.curves ?? []) {
      const line = { view, color: colorOf(selected.indexOf(view.run)), label: labels.get(view.run) ?? view.run };
      lines.set(view.name, [...(lines.get(view.name) ?? []), line]);
    }
    return lines;
  }, [grid, selected, labels]);
  if (!grid) return null;
  return (
    <aside className="side" aria-label="Curves of the chosen runs">
      {[...byName].map(([name, curves]) => (
        <section className="card" key={name}>
          <h2>
            {name} <span>{axis}</span>
          </h2>
          <Curve label={`${name} of ${curves.map((curve) => curve.label).join(", ")}`} grid={grid} curves={curves} smoothing={smoothing} />
        </section>
      ))}
      {byName.size === 0 ? <p className="soft">The chosen runs have no numbers under the shown metrics.</p> : null}
    </aside>
  );
}
