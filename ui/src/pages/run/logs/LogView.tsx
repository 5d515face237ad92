import { useLayoutEffect, useRef, useState } from "react";
import { isAtEnd, type LogLine } from "../../../data/run/logPages";
import { ProblemNote } from "../../../parts/ProblemNote";
import { LogLines } from "./LogLines";
import { type LogTarget, useLog } from "./useLog";

interface Props {
  run: string;
  path: string;
  size: number;
  line?: number;
  isWrapped: boolean;
  hasTimes: boolean;
  matches: Set<number>;
  onLine: (line: number) => void;
}

const NEAR = 400;

/** A log of any size: the lines near what is shown, and a scrollbar over all of its bytes. */
export function LogView({ run, path, size, line, isWrapped, hasTimes, matches, onLine }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const { window: shown, error, jump, earlier, later } = useLog(run, path, size, line === undefined ? "end" : { line: line - 1 });
  const [isFollowing, setFollowing] = useState(line === undefined);
  const wanted = useRef(line);
  const place = usePlace(box, shown?.lines);

  const present = useRef(shown);
  present.current = shown;
  // a line is looked for once, when the address begins to name it: later the reader may go elsewhere
  useLayoutEffect(() => {
    if (line === undefined || !present.current) return;
    wanted.current = line;
    setFollowing(false);
    if (!present.current.lines.some((each) => each.number === line - 1)) void jump({ line: line - 1 });
    else if (showLine(box.current, line)) wanted.current = undefined;
  }, [line, jump]);
  useLayoutEffect(() => {
    if (!shown || !box.current) return;
    if (isFollowing) {
      box.current.scrollTop = box.current.scrollHeight;
    } else if (wanted.current !== undefined && showLine(box.current, wanted.current)) {
      wanted.current = undefined;
    }
  }, [shown, isFollowing]);

  function go(target: LogTarget) {
    setFollowing(target === "end");
    void jump(target).then(() => {
      if (box.current && target !== "end") box.current.scrollTop = 0;
    });
  }
  function scrolled() {
    const element = box.current;
    if (!element || !shown) return;
    const below = element.scrollHeight - element.scrollTop - element.clientHeight;
    place.note();
    setFollowing(below < 24 && isAtEnd(shown));
    if (element.scrollTop < NEAR) earlier();
    if (below < NEAR && !isAtEnd(shown)) later();
  }
  if (error && !shown) return <ProblemNote error={error} />;
  return (
    <>
      <div className="log-frame">
        {/* a region that scrolls must be reachable by keyboard */}
        <div ref={box} className={isWrapped ? "log" : "log nowrap"} role="log" aria-live="off" aria-label={path} tabIndex={0} onScroll={scrolled}>
          <LogLines lines={shown?.lines ?? []} chosen={line} hasTimes={hasTimes} matches={matches} onLine={onLine} />
        </div>
        <input
          type="range"
          className="log-position"
          aria-label="Position in the log"
          min={0}
          max={Math.max(1, shown?.size ?? size)}
          value={place.offset ?? shown?.offset ?? 0}
          onChange={({ target }) => go({ offset: Number(target.value) })}
        />
      </div>
      <div className="tools">
        <span className="soft">{shown ? `${shown.total.toLocaleString("en")} lines` : ""}</span>
        <span className="space" />
        <button type="button" onClick={() => go({ offset: 0 })}>
          Start
        </button>
        <button type="button" aria-pressed={isFollowing} onClick={() => go("end")}>
          Follow
        </button>
      </div>
    </>
  );
}

/** Return whether the line is there to be shown. */
function showLine(box: HTMLElement | null, line: number): boolean {
  const element = box?.querySelector(`[data-line="${line - 1}"]`);
  element?.scrollIntoView({ block: "center" });
  return element != null;
}

/** Keep the line at the top where it is when lines are added above it. */
function usePlace(box: React.RefObject<HTMLDivElement | null>, lines: LogLine[] | undefined) {
  const anchor = useRef<{ line: string; top: number } | null>(null);
  const [offset, setOffset] = useState<number | null>(null);
  function note() {
    const element = box.current;
    if (!element) return;
    const top = element.getBoundingClientRect().top;
    const row = [...element.querySelectorAll<HTMLElement>("[data-line]")].find((each) => each.getBoundingClientRect().bottom > top);
    if (!row) return;
    anchor.current = { line: row.dataset.line ?? "", top: row.getBoundingClientRect().top - top };
    setOffset(Number(row.dataset.offset));
  }
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || !lines || !anchor.current) return;
    const row = element.querySelector(`[data-line="${anchor.current.line}"]`);
    if (row) element.scrollTop += row.getBoundingClientRect().top - element.getBoundingClientRect().top - anchor.current.top;
  }, [box, lines]);
  return { offset, note };
}
