import { expect, test } from "vitest";
import type { RunView, StoryLine } from "../api/types.gen";
import { phasesOf, sentence, shortState } from "./runStates";

const RUN = { status: "Running", target: "local", started: 100, nodes: [] } as unknown as RunView;
const line = (time: number, status: string): StoryLine => ({ seq: 0, time, event: "", status, text: "" });

test("a running run says for how long and where", () => {
  expect(sentence(RUN, 220)).toBe("Running for 2 min 0 s on local.");
});

test("a waiting run says why, and its position", () => {
  const run = { ...RUN, status: "Queued", waiting: { reason: "needs 4 GPUs, 2 free", position: 2 } };
  expect(shortState(run as RunView)).toBe("2nd in the queue: needs 4 GPUs, 2 free");
});

test("a failed run names the rank that failed first", () => {
  const outcome = { kind: "failed", cause: { code: "x", message: "exit code 1", rank: 3, node: 1 } };
  const run = { ...RUN, status: "Failed", ended: 160, outcome, nodes: [{}, {}] };
  expect(sentence(run as unknown as RunView, 0)).toBe("Failed after 1 min 0 s: rank 3 on node 1: exit code 1");
});

test("phases join equal states and end at the last line of a run that is over", () => {
  const story = [line(0, "Preparing"), line(1, "Preparing"), line(3, "Running"), line(10, "Completed")];
  expect(phasesOf(story, 99, true).map((phase) => [phase.name, phase.seconds])).toEqual([
    ["Preparing", 3],
    ["Running", 7],
  ]);
  expect(phasesOf(story.slice(0, 3), 20, false).at(-1)?.seconds).toBe(17);
});
