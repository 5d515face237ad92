import { useCallback, useSyncExternalStore } from "react";

interface Ticker {
  now: number;
  listeners: Set<() => void>;
}

const tickers = new Map<number, Ticker>();

/** One timer for all that show the time, because a table has many of them. */
function tickerOf(every: number): Ticker {
  const known = tickers.get(every);
  if (known) return known;
  const ticker: Ticker = { now: Date.now() / 1000, listeners: new Set() };
  setInterval(() => {
    if (document.hidden) return;
    ticker.now = Date.now() / 1000;
    for (const listener of ticker.listeners) listener();
  }, every * 1000);
  tickers.set(every, ticker);
  return ticker;
}

/** The present time in seconds, renewed every so many seconds while the page is visible. */
export function useNow(every: number): number {
  const subscribe = useCallback(
    (listener: () => void) => {
      const { listeners } = tickerOf(every);
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    [every],
  );
  return useSyncExternalStore(subscribe, () => tickerOf(every).now);
}
