import { memo } from "react";
import { spansOf } from "../../../data/run/ansi";
import type { LogLine } from "../../../data/run/logPages";
import { Spans } from "./Spans";

interface Props {
  lines: LogLine[];
  chosen?: number;
  hasTimes: boolean;
  matches: Set<number>;
  onLine: (line: number) => void;
}

export function LogLines({ lines, chosen, hasTimes, matches, onLine }: Props) {
  return lines.map((line) => (
    <Line key={line.number} line={line} isChosen={line.number + 1 === chosen} isMatch={matches.has(line.number)} hasTime={hasTimes} onLine={onLine} />
  ));
}

interface LineProps {
  line: LogLine;
  isChosen: boolean;
  isMatch: boolean;
  hasTime: boolean;
  onLine: (line: number) => void;
}

/** Lines that did not change are not drawn again. */
const Line = memo(function Line({ line, isChosen, isMatch, hasTime, onLine }: LineProps) {
  const marks = ["line", line.isError ? "error" : "", isChosen ? "chosen" : "", isMatch ? "match" : ""];
  return (
    <div className={marks.filter(Boolean).join(" ")} data-line={line.number} data-offset={line.offset}>
      <button type="button" className="quiet number" tabIndex={-1} aria-label={`Link to line ${line.number + 1}`} onClick={() => onLine(line.number + 1)}>
        {line.number + 1}
      </button>
      {hasTime ? <time className="faint">{line.time === null ? "" : new Date(line.time * 1000).toLocaleTimeString()}</time> : null}
      <span className="text">
        <Spans spans={spansOf(line.text)} />
      </span>
    </div>
  );
});
