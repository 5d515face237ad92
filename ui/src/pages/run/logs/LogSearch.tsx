import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { plainText } from "../../../data/run/ansi";
import { logMatches } from "../../../data/run/queries";
import { ProblemNote } from "../../../parts/ProblemNote";

interface Props {
  run: string;
  path: string;
  size: number;
  pattern: string;
  isRegex: boolean;
  chosen?: number;
  onLine: (line: number) => void;
  onMatches: (lines: Set<number>) => void;
}

/** The lines of the whole log that match, found by the server. */
export function LogSearch({ run, path, size, pattern, isRegex, chosen, onLine, onMatches }: Props) {
  const { data, error, isFetching, hasNextPage, fetchNextPage } = useInfiniteQuery(logMatches(run, path, size, pattern, isRegex));
  const matches = useMemo(() => data?.pages.flatMap((page) => page.matches) ?? [], [data]);
  const numbers = useMemo(() => new Set(matches.map((match) => match.line)), [matches]);
  useEffect(() => {
    onMatches(numbers);
    return () => onMatches(new Set());
  }, [numbers, onMatches]);
  if (error) return <ProblemNote error={error} />;
  const at = matches.findIndex((match) => match.line + 1 === chosen);
  const go = (index: number) => {
    const match = matches[(index + matches.length) % matches.length];
    if (match) onLine(match.line + 1);
  };
  return (
    <section className="card matches" aria-label="Matches">
      <div className="tools">
        <span role="status">
          {matches.length === 1 ? "1 match" : `${matches.length.toLocaleString("en")} matches`}
          {hasNextPage ? ", and perhaps more" : ""}
          {isFetching ? " …" : ""}
        </span>
        <span className="space" />
        <button type="button" disabled={matches.length === 0} onClick={() => go(at - 1)}>
          Previous
        </button>
        <button type="button" disabled={matches.length === 0} onClick={() => go(at + 1)}>
          Next
        </button>
        {hasNextPage ? (
          <button type="button" disabled={isFetching} onClick={() => fetchNextPage()}>
            Search on
          </button>
        ) : null}
      </div>
      <ol className="plain" role="list">
        {matches.map((match) => (
          <li key={match.offset} className={match.line + 1 === chosen ? "chosen" : undefined}>
            <button type="button" className="quiet" onClick={() => onLine(match.line + 1)}>
              <span className="faint">{match.line + 1}</span> {plainText(match.text.slice(0, match.start)).slice(-80)}
              <mark>{plainText(match.text.slice(match.start, match.end))}</mark>
              {plainText(match.text.slice(match.end)).slice(0, 200)}
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}
