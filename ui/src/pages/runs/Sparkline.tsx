import { useQuery } from "@tanstack/react-query";
import { useContext, useMemo } from "react";
import { series } from "../../data/queries";
import { sparkPath } from "../../data/sparkline";
import { IsScrolling } from "./IsScrolling";

const BOX = { width: 78, height: 16 };
/** A picture of so few pixels needs no more points. */
const PIXELS = 26;

interface Props {
  workspace: string;
  run: string;
  name: string;
  batch: string[];
}

/** A metric of a run as a small picture. The rows of a batch are read in one request, once the table stands still. */
export function Sparkline({ workspace, run, name, batch }: Props) {
  const isScrolling = useContext(IsScrolling);
  const options = series(workspace, { runs: batch, names: [name], axis: "step", pixels: PIXELS });
  const { data: grid } = useQuery({ ...options, enabled: !isScrolling });
  const path = useMemo(() => {
    const curve = grid?.curves.find((each) => each.run === run);
    return grid && curve ? sparkPath(grid.width ?? null, curve, BOX) : "";
  }, [grid, run]);
  return path ? (
    <svg width={BOX.width} height={BOX.height} viewBox={`0 0 ${BOX.width} ${BOX.height}`} aria-hidden="true" className="spark">
      <path d={path} />
    </svg>
  ) : null;
}
