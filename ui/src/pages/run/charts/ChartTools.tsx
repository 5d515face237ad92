import { movedRange } from "../../../data/run/plotData";
import type { Axis, RunSearch } from "../../../data/run/search";
import { Typed } from "../Typed";

interface Props {
  search: RunSearch;
  change: (part: Partial<RunSearch>) => void;
  count: string;
  hasRanks: boolean;
  isHardware: boolean;
}

/** How charts are shown: all of it is in the address. */
export function ChartTools({ search, change, count, hasRanks, isHardware }: Props) {
  return (
    <div className="tools">
      <Typed label="Filter charts by name" placeholder="Filter by name" value={search.find ?? ""} onType={(find) => change({ find: find || undefined })} />
      <span className="soft">{count}</span>
      <Zoom search={search} change={change} />
      <span className="space" />
      {isHardware ? null : (
        <label>
          over{" "}
          <select
            value={search.axis ?? "step"}
            onChange={({ target }) => change({ axis: target.value === "step" ? undefined : (target.value as Axis), low: undefined, high: undefined })}
          >
            <option value="step">step</option>
            <option value="relative">relative time</option>
            <option value="time">time</option>
          </select>
        </label>
      )}
      <label>
        smoothing{" "}
        <input type="range" min="0" max="0.99" step="0.01" value={search.smoothing ?? 0} onChange={({ target }) => change({ smoothing: Number(target.value) || undefined })} />
      </label>
      <Tick label="log scale" isOn={search.log} onTick={(log) => change({ log })} />
      <Tick label="ignore outliers" isOn={search.outliers} onTick={(outliers) => change({ outliers })} />
      {hasRanks ? <Tick label="per rank" isOn={search.ranks} onTick={(ranks) => change({ ranks })} /> : null}
    </div>
  );
}

function Tick({ label, isOn, onTick }: { label: string; isOn?: boolean; onTick: (isOn: true | undefined) => void }) {
  return (
    <label>
      <input type="checkbox" checked={isOn ?? false} onChange={({ target }) => onTick(target.checked || undefined)} /> {label}
    </label>
  );
}

/** What the mouse does by dragging, for the keyboard. */
function Zoom({ search: { low, high }, change }: Pick<Props, "search" | "change">) {
  if (low === undefined || high === undefined) return null;
  const move = (by: Parameters<typeof movedRange>[1]) => change(movedRange({ low, high }, by));
  return (
    <span className="zoom" role="group" aria-label="Zoom">
      <button type="button" aria-label="Earlier" onClick={() => move({ pan: -0.5 })}>
        ←
      </button>
      <button type="button" aria-label="Zoom in" onClick={() => move({ zoom: 0.5 })}>
        +
      </button>
      <button type="button" aria-label="Zoom out" onClick={() => move({ zoom: 2 })}>
        −
      </button>
      <button type="button" aria-label="Later" onClick={() => move({ pan: 0.5 })}>
        →
      </button>
      <button type="button" onClick={() => change({ low: undefined, high: undefined })}>
        Show all
      </button>
    </span>
  );
}
