import { useCallback, useEffect, useRef, useState } from "react";
import { isAtEnd, type LogWindow, continuation, windowOf, withEarlier, withLater } from "../../../data/run/logPages";
import { type LogPlace, readLines } from "../../../data/run/queries";

const PAGE = 500;
const CONTEXT = 150;

export type LogTarget = { line: number } | { offset: number } | "end";

/** A window over a log: it moves to a line, a byte or the end, grows where somebody scrolls, and follows what arrives. */
export function useLog(run: string, path: string, size: number, first: LogTarget) {
  const [window, setWindow] = useState<LogWindow | null>(null);
  const [error, setError] = useState<unknown>(null);
  const busy = useRef<AbortController | null>(null);
  const begin = useRef(first);

  /** One request at a time; a jump takes the place of what is under way. */
  const load = useCallback(
    async (place: LogPlace, use: (page: Awaited<ReturnType<typeof readLines>>) => void, isJump = false) => {
      if (busy.current && !isJump) return;
      busy.current?.abort();
      const mine = new AbortController();
      busy.current = mine;
      try {
        use(await readLines(run, path, place, mine.signal));
        setError(null);
      } catch (problem) {
        if (!mine.signal.aborted) setError(problem);
      } finally {
        if (busy.current === mine) busy.current = null;
      }
    },
    [run, path],
  );

  const jump = useCallback(
    (target: LogTarget) => {
      const place = target === "end" ? { limit: PAGE } : "line" in target ? { line: Math.max(0, target.line - CONTEXT), limit: PAGE } : { offset: target.offset, limit: PAGE };
      return load(place, (page) => setWindow(windowOf(page)), true);
    },
    [load],
  );
  const later = useCallback(() => {
    if (window) void load({ offset: continuation(window), limit: PAGE }, (page) => setWindow((before) => before && withLater(before, page)));
  }, [load, window]);
  const earlier = useCallback(() => {
    if (!window || window.offset === 0) return;
    void load({ offset: window.offset, back: true, limit: PAGE }, (page) => setWindow((before) => before && withEarlier(before, page)));
  }, [load, window]);

  useEffect(() => {
    void jump(begin.current);
    return () => busy.current?.abort();
  }, [jump]);

  // what has arrived since: only a window at the end shows it
  const isBehind = window !== null && size > window.size;
  const follows = window !== null && isAtEnd(window);
  useEffect(() => {
    if (isBehind && follows) later();
  }, [isBehind, follows, later]);
  return { window, error, jump, earlier, later };
}
