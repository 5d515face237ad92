import { expect, test } from "vitest";
import { continuation, firstToFail, isAtEnd, type LogPage, logsOf, logTitle, MOST_LINES, windowOf, withEarlier, withLater } from "./logPages";

/** Lines of ten bytes each. */
function page(first: number, count: number, total = 100_000, last?: string): LogPage {
  const texts = Array.from({ length: count }, (_, index) => `line ${first + index}`);
  if (last) texts[count - 1] = last;
  const offsets = texts.map((_, index) => (first + index) * 10);
  return { path: "l", size: total * 10, lines: total, first, offset: first * 10, end: (first + count) * 10, texts, offsets, times: texts.map(() => null) };
}

test("pages join at both ends without a gap or a repeated line", () => {
  const window = withEarlier(withLater(windowOf(page(50, 10)), page(60, 10)), page(40, 10));
  expect(window.lines.map((line) => line.number)).toEqual(Array.from({ length: 30 }, (_, index) => 40 + index));
  expect([window.offset, window.end]).toEqual([400, 700]);
});

test("a last line that grew replaces what was shown of it", () => {
  const before = windowOf(page(0, 3, 3, "10 %"));
  expect(continuation(before)).toBe(20);
  expect(continuation(windowOf(page(0, 3, 9)))).toBe(30); // in the middle of the log, each line is whole
  const grown = { ...page(2, 2, 4), texts: ["100 %", "done"] };
  expect(withLater(before, grown).lines.map((line) => line.text)).toEqual(["line 0", "line 1", "100 %", "done"]);
});

test("a window stays small and knows what it covers", () => {
  let window = windowOf(page(0, 2000));
  window = withLater(window, page(2000, 2000));
  expect([window.lines.length, window.offset, window.lines[0]?.number, window.end]).toEqual([MOST_LINES, 10_000, 1000, 40_000]);
  window = withEarlier(window, page(0, 1000));
  expect([window.lines[0]?.number, window.lines.at(-1)?.number, window.end, isAtEnd(window)]).toEqual([0, 2999, 30_000, false]);
});

test("errors are marked", () => {
  const marks = windowOf({ ...page(0, 5), texts: ["Traceback (most recent call last):", "ValueError: no", "2026 ERROR x", "terror", "  at 1"] }).lines;
  expect(marks.map((line) => line.isError)).toEqual([true, true, true, false, false]);
});

test("ranks come first, by number", () => {
  const paths = ["system_logs/node_0.txt", "outputs/a", "user_logs/std_log_process_10.txt", "user_logs/std_log_process_02.txt", "system_logs/uncommitted.diff"];
  const logs = logsOf(paths.map((path) => ({ path }))).map(({ path }) => path);
  expect(logs).toEqual([paths[3], paths[2], paths[0]]);
  expect(logs.map(logTitle)).toEqual(["rank 2", "rank 10", "system_logs/node_0.txt"]);
});

test("the log of the rank that failed first is read first", () => {
  const logs = [0, 1, 2].map((rank) => ({ path: `user_logs/std_log_process_0${rank}.txt` }));
  expect(firstToFail(logs, 2)).toEqual([logs[2], logs[0], logs[1]]);
  expect(firstToFail(logs, null)).toEqual(logs);
});
