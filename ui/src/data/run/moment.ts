/** What is known about one second of a run. Pure. */
import type { FileViewOutput as FileView, SeriesGrid, StoryLine } from "../../api/types.gen";
import type { LogPage } from "./logPages";
import { logTitle } from "./logPages";

export interface MomentLine {
  path: string;
  title: string;
  number: number;
  text: string;
  time: number;
}

/** The lines of all logs around a time, in the order in which they arrived. */
export function linesAround(pages: LogPage[], time: number, most: number): MomentLine[] {
  const lines = pages.flatMap((page) =>
    page.texts.flatMap((text, index): MomentLine[] => {
      const arrived = page.times[index];
      return arrived == null ? [] : [{ path: page.path, title: logTitle(page.path), number: page.first + index, text, time: arrived }];
    }),
  );
  const known = new Map(lines.map((line) => [`${line.path}:${line.number}`, line]));
  const nearest = [...known.values()].sort((a, b) => Math.abs(a.time - time) - Math.abs(b.time - time)).slice(0, most);
  return nearest.sort((a, b) => a.time - b.time || a.path.localeCompare(b.path, "en", { numeric: true }) || a.number - b.number);
}

export interface Sample {
  name: string;
  value: number;
}

/** The sample of each series that is nearest to a time. */
export function samplesAt(grid: SeriesGrid | undefined, time: number): Sample[] {
  return (grid?.curves ?? []).flatMap(({ name, x, value, buckets }) => {
    const xs = ((buckets as { x: number[] } | null | undefined)?.x ?? x ?? []) as number[];
    const values = ((buckets as { last: (number | null)[] } | null | undefined)?.last ?? value ?? []) as (number | null)[];
    let best = -1;
    xs.forEach((at, index) => {
      if (values[index] != null && (best < 0 || Math.abs(at - time) < Math.abs(xs[best]! - time))) best = index;
    });
    return best < 0 ? [] : [{ name, value: values[best]! }];
  });
}

const MINUTES_AROUND = 5;

export function eventsAround(story: StoryLine[], time: number, most: number): StoryLine[] {
  const near = story.filter((line) => Math.abs(line.time - time) <= MINUTES_AROUND * 60);
  const chosen = [...near].sort((a, b) => Math.abs(a.time - time) - Math.abs(b.time - time)).slice(0, most);
  return chosen.sort((a, b) => a.seq - b.seq);
}

/** The newest file of a checkpoint that was saved before a time. */
export function checkpointBefore(files: FileView[], time: number): FileView | null {
  const saved = files.filter((file) => /(^|\/)checkpoints\//.test(file.path) && file.modified != null && file.modified <= time);
  return saved.reduce<FileView | null>((newest, file) => (newest && newest.modified! >= file.modified! ? newest : file), null);
}
