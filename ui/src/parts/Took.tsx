import type { RunView } from "../api/types.gen";
import { duration } from "../data/format";
import { isOver, tookSeconds } from "../data/runStates";
import { useNow } from "./useNow";

/** How long a run took, or has taken so far. */
export function Took({ run }: { run: RunView }) {
  return isOver(run) || run.started == null ? textOf(run, 0) : <Counting run={run} />;
}

function Counting({ run }: { run: RunView }) {
  return textOf(run, useNow(1));
}

function textOf(run: RunView, now: number): string {
  const seconds = tookSeconds(run, now);
  return seconds === null ? "" : duration(Math.max(0, seconds));
}
