import { ago, exactTime } from "../data/format";
import { useNow } from "./useNow";

/** A time relative to now, with the exact one on hover. */
export function Time({ time }: { time: number }) {
  const now = useNow(10);
  return (
    <time dateTime={new Date(time * 1000).toISOString()} title={exactTime(time)}>
      {ago(time, now)}
    </time>
  );
}
