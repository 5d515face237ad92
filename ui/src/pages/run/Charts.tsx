import { useQuery } from "@tanstack/react-query";
import type { RunView } from "../../api/types.gen";
import { counted } from "../../data/format";
import { metricSummary } from "../../data/queries";
import type { RunSearch } from "../../routes";
import { ChartGrid } from "./ChartGrid";

interface Props {
  run: RunView;
  workspace: string;
  search: RunSearch;
  onChange: (part: Partial<RunSearch>) => void;
  system?: boolean;
}

/** All metrics of a run, or the samples of its machines, as charts. */
export function Charts({ run, workspace, search, onChange, system = false }: Props) {
  const { data: summary = [] } = useQuery(metricSummary(run.id));
  const find = (search.find ?? "").toLowerCase();
  const all = summary.filter((each) => each.system === system && each.kind === "scalar").map((each) => each.name);
  const names = all.filter((name) => name.toLowerCase().includes(find));
  return (
    <div className="page">
      <div className="tools">
        <input aria-label="Filter charts by name" placeholder="Filter by name" value={search.find ?? ""} onChange={(event) => onChange({ find: event.target.value || undefined })} />
        <span className="soft">{find ? `${names.length} of ${counted(all.length, "chart")}` : counted(all.length, "chart")}</span>
        <span className="space" />
        {system ? null : (
          <label>
            over{" "}
            <select value={search.axis ?? "step"} onChange={(event) => onChange({ axis: event.target.value as RunSearch["axis"] })}>
              <option value="step">step</option>
              <option value="relative">relative time</option>
              <option value="time">time</option>
            </select>
          </label>
        )}
        <label>
          smoothing{" "}
          <input type="range" min="0" max="0.99" step="0.01" value={search.smoothing ?? 0} onChange={(event) => onChange({ smoothing: Number(event.target.value) || undefined })} />
        </label>
        <label>
          <input type="checkbox" checked={search.log ?? false} onChange={(event) => onChange({ log: event.target.checked || undefined })} /> log scale
        </label>
      </div>
      <ChartGrid run={run} workspace={workspace} names={names} search={search} system={system} />
      <p className="soft">Drag over a chart to zoom all of them; a double click shows everything again.</p>
    </div>
  );
}
