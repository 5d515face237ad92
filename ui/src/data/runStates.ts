/** What a run is doing, as a mark and as one sentence. Pure. */
import type { RunView, StoryLine } from "../api/types.gen";
import { counted, duration } from "./format";

export type Mark = "running" | "waiting" | "done" | "failed" | "stopped";

const MARKS: Record<string, Mark> = {
  Completed: "done",
  Failed: "failed",
  Canceled: "stopped",
  CancelRequested: "stopped",
  Running: "running",
  Finalizing: "running",
};

export function markOf(run: Pick<RunView, "status">): Mark {
  return MARKS[run.status] ?? "waiting";
}

export function isOver(run: Pick<RunView, "status">): boolean {
  return ["Completed", "Failed", "Canceled"].includes(run.status);
}

/** The state for a table: the reason, where there is one. */
export function shortState(run: RunView): string {
  if (run.waiting) {
    const place = run.waiting.position > 0 ? `${ordinal(run.waiting.position)} in the queue: ` : "";
    return `${place}${run.waiting.reason}`;
  }
  const cause = run.outcome?.cause;
  if (run.status === "Failed" && cause) return cause.message;
  return run.status;
}

export function tookSeconds(run: RunView, now: number): number | null {
  return run.started == null ? null : (run.ended ?? now) - run.started;
}

export function sentence(run: RunView, now: number): string {
  const took = tookSeconds(run, now);
  const time = took === null ? "" : ` after ${duration(took)}`;
  const nodes = (run.nodes ?? []).length;
  if (run.waiting) return `Waits: ${shortState(run)}.`;
  if (run.status === "Completed") return `Completed${time}.`;
  if (run.status === "Failed") return `Failed${time}: ${causeText(run)}`;
  if (run.status === "Canceled") return `Canceled${time}${run.outcome?.cause ? `: ${run.outcome.cause.message}` : "."}`;
  if (run.status === "Running") {
    return `Running for ${duration(took ?? 0)} on ${nodes > 1 ? counted(nodes, "node") : run.target}.`;
  }
  return `${run.status}: ${run.status === "Preparing" ? "the environment is resolved and the code is stored" : "in progress"}.`;
}

function causeText(run: RunView): string {
  const cause = run.outcome?.cause;
  if (!cause) return "no cause was recorded.";
  if (cause.rank != null && cause.message.startsWith(`rank ${cause.rank} `)) return cause.message;
  const where = [
    cause.rank == null ? null : `rank ${cause.rank}`,
    cause.node == null || (run.nodes ?? []).length < 2 ? null : `on node ${cause.node}`,
  ];
  const place = where.filter(Boolean).join(" ");
  return `${place ? `${place}: ` : ""}${cause.message}`;
}

export interface Phase {
  name: string;
  mark: Mark;
  seconds: number;
}

/** Consecutive equal states of the story are one phase. */
export function phasesOf(story: StoryLine[], now: number, over: boolean): Phase[] {
  const phases: Phase[] = [];
  story.forEach((line, index) => {
    const following = story[index + 1];
    const until = following ? following.time : over ? line.time : now;
    const last = phases.at(-1);
    const seconds = Math.max(0, until - line.time);
    if (last?.name === line.status) last.seconds += seconds;
    else phases.push({ name: line.status, mark: markOf(line), seconds });
  });
  return phases.filter((phase) => phase.seconds > 0.0005);
}

function ordinal(count: number): string {
  const ending = count % 100 > 10 && count % 100 < 14 ? "th" : (["th", "st", "nd", "rd"][count % 10] ?? "th");
  return `${count}${ending}`;
}
