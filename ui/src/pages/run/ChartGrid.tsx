import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import type { RunView } from "../../api/types.gen";
import { series } from "../../data/queries";
import { Curve } from "../../parts/Curve";
import type { RunSearch } from "../../routes";

interface Props {
  run: RunView;
  workspace: string;
  names: string[];
  search: RunSearch;
  system?: boolean;
}

/** One chart per metric. A chart that was never on the screen is neither drawn nor requested. */
export function ChartGrid({ run, workspace, names, search, system = false }: Props) {
  const [zoom, setZoom] = useState<{ low: number; high: number } | null>(null);
  return (
    <div className="charts">
      {names.map((name) => (
        <Chart key={name} run={run} workspace={workspace} name={name} search={search} system={system} zoom={zoom} onZoom={setZoom} />
      ))}
      {names.length === 0 ? <p className="soft">Nothing was logged yet. Log a number with: run.log("loss", value)</p> : null}
    </div>
  );
}

interface ChartProps extends Omit<Props, "names"> {
  name: string;
  zoom: { low: number; high: number } | null;
  onZoom: (range: { low: number; high: number } | null) => void;
}

function Chart({ run, workspace, name, search, system, zoom, onZoom }: ChartProps) {
  const place = useRef<HTMLElement>(null);
  const isSeen = useIsSeen(place);
  const axis = system ? "relative" : (search.axis ?? "step");
  const request = { runs: [run.id], names: [name], axis, low: zoom?.low, high: zoom?.high, pixels: 480, system } as const;
  const { data: grid } = useQuery({ ...series(workspace, { ...request, runs: [run.id], names: [name] }), enabled: isSeen });
  const curves = useMemo(() => (grid?.curves ?? []).map((view) => ({ view, color: "--c1", label: name })), [grid, name]);
  const attempts = grid?.curves[0]?.starts?.length ?? 0;
  return (
    <section className="card chart" ref={place}>
      <h2>
        {name} <span>{attempts > 0 ? `${attempts + 1} attempts, one curve` : axis}</span>
      </h2>
      {isSeen && grid && curves.length > 0 ? (
        <Curve label={`${name} over ${axis}`} grid={grid} curves={curves} smoothing={search.smoothing ?? 0} logarithmic={search.log ?? false} onZoom={onZoom} />
      ) : null}
    </section>
  );
}

function useIsSeen(place: React.RefObject<HTMLElement | null>): boolean {
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const observer = new IntersectionObserver(([entry]) => setSeen(entry?.isIntersecting ?? false), { rootMargin: "200px" });
    observer.observe(element);
    return () => observer.disconnect();
  }, [place]);
  return isSeen;
}
