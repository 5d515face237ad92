import { expect, test } from "vitest";
import type { FileViewOutput as FileView, SeriesGrid, StoryLine } from "../../api/types.gen";
import type { LogPage } from "./logPages";
import { checkpointBefore, eventsAround, linesAround, samplesAt } from "./moment";

function page(path: string, first: number, times: (number | null)[]): LogPage {
  const texts = times.map((_, index) => `${path} ${first + index}`);
  return { path, size: 0, lines: 0, first, offset: 0, end: 0, texts, offsets: times.map(() => 0), times };
}

test("lines of all ranks are one time line, each once", () => {
  const pages = [page("user_logs/std_log_process_01.txt", 5, [9, 10, 12]), page("user_logs/std_log_process_01.txt", 6, [10]), page("user_logs/std_log_process_00.txt", 0, [1, 10, null])];
  expect(linesAround(pages, 10, 4).map((line) => `${line.title} ${line.number}`)).toEqual(["rank 1 5", "rank 0 1", "rank 1 6", "rank 1 7"]);
});

test("each series has its nearest sample", () => {
  const grid = { curves: [{ run: "r", name: "a", total: 2, x: [1, 4], value: [10, 40] }, { run: "r", name: "b", total: 1, x: [3], value: [null] }, { run: "r", name: "c", total: 8, buckets: { x: [0, 4], last: [1, 2] } }] };
  expect(samplesAt(grid as unknown as SeriesGrid, 3)).toEqual([{ name: "a", value: 40 }, { name: "c", value: 2 }]);
  expect(samplesAt(undefined, 3)).toEqual([]);
});

test("events are those of the minutes around, in their order", () => {
  const story = [1, 350, 380, 400, 900].map((time, seq) => ({ seq, time }) as StoryLine);
  expect(eventsAround(story, 395, 2).map((line) => line.time)).toEqual([380, 400]);
  expect(eventsAround(story, 395, 9).map((line) => line.time)).toEqual([350, 380, 400]);
});

test("the nearest checkpoint is the newest before", () => {
  const files = [["checkpoints/1", 10], ["checkpoints/2", 20], ["outputs/x", 25], ["checkpoints/3", 30]].map(([path, modified]) => ({ path, modified, size: 1 }) as FileView);
  expect(checkpointBefore(files, 29)?.path).toBe("checkpoints/2");
  expect(checkpointBefore(files, 9)).toBeNull();
});
