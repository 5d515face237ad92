import { useEffect, useState } from "react";

/** The present time in seconds, renewed every so many seconds while the page is visible. */
export function useNow(every: number): number {
  const [now, setNow] = useState(() => Date.now() / 1000);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNow(Date.now() / 1000);
    }, every * 1000);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}
