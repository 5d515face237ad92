import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { counted } from "../../data/format";
import { metricSummary } from "../../data/queries";
import { matching } from "../../data/run/chartRows";
import { ChartTools } from "./charts/ChartTools";
import { ChartWall } from "./charts/ChartWall";
import type { RunPart } from "./part";

/** All metrics of a run as charts. */
export function Charts(part: RunPart) {
  const { run, search, change } = part;
  const { data: summary, isPending } = useQuery(metricSummary(run.id));
  const names = useMemo(() => (summary ?? []).filter((each) => !each.system && each.kind === "scalar").map((each) => each.name), [summary]);
  const shown = matching(names, search.find).length;
  const count = search.find ? `${shown} of ${counted(names.length, "chart")}` : counted(names.length, "chart");
  return (
    <div className="page">
      <ChartTools search={search} change={change} count={count} hasRanks={(run.spec?.distribution?.kind ?? "none") !== "none"} isHardware={false} />
      {names.length === 0 && !isPending ? <p className="soft">Nothing was logged yet. Log a number with: run.log("loss", value)</p> : null}
      <ChartWall part={part} names={names} />
      <p className="soft">
        Drag over a chart to zoom all of them, with Shift to move them; a double click shows everything again. Click a point to see that
        moment: logs, hardware and events.
      </p>
    </div>
  );
}
