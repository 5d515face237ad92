import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { counted } from "../../data/format";
import { metricSummary } from "../../data/queries";
import { matching } from "../../data/run/chartRows";
import { nodeOf, orderedSamples, sampleFormat, sampleTitle } from "../../data/run/hardware";
import { ChartTools } from "./charts/ChartTools";
import { ChartWall } from "./charts/ChartWall";
import type { RunPart } from "./part";

const METRICS = "Metrics, on the same axis";
const isSystem = (name: string) => nodeOf(name) !== null;

/** The samples of each node over time, below the metrics that are pinned, on one axis with one cursor. */
export function Hardware(part: RunPart) {
  const { run, change } = part;
  const { data: summary, isPending } = useQuery(metricSummary(run.id));
  // the axis is time: a range of steps means nothing here
  const search = part.search.axis === "time" ? part.search : { ...part.search, axis: "time" as const, low: undefined, high: undefined, ranks: undefined };
  const { samples, metrics } = useMemo(() => {
    const scalars = (summary ?? []).filter((each) => each.kind === "scalar");
    const chosen = scalars.filter((each) => !each.system).map((each) => each.name);
    return { samples: orderedSamples(scalars.filter((each) => each.system).map((each) => each.name)), metrics: chosen };
  }, [summary]);
  const pinned = metrics.filter((name) => search.pinned?.includes(name));
  const beside = pinned.length > 0 ? pinned : metrics.slice(0, 1);
  const hosts = new Map((run.nodes ?? []).map((node) => [node.index, node.host]));
  const groupOf = (name: string) => {
    const node = nodeOf(name);
    return node === null ? METRICS : [`Node ${node}`, hosts.get(node)].filter(Boolean).join(" · ");
  };
  const names = [...beside, ...samples];
  const shown = matching(samples, search.find).length;
  return (
    <div className="page">
      <ChartTools search={search} change={change} count={search.find ? `${shown} of ${counted(samples.length, "chart")}` : counted(samples.length, "chart")} hasRanks={false} isHardware />
      {samples.length === 0 && !isPending ? <p className="soft">No sample of a machine has arrived yet. They begin when the script starts.</p> : null}
      <ChartWall
        part={{ ...part, search }}
        names={names}
        isSystem={isSystem}
        groupOf={groupOf}
        titleOf={(name) => (isSystem(name) ? sampleTitle(name) : name)}
        formatOf={(name) => (isSystem(name) ? sampleFormat(name) : undefined)}
      />
    </div>
  );
}
