/** Clocks of components. */

import { useEffect, useState } from "react";
import type { ErrorInfo } from "../../store/types";
import { usePage } from "../store";

/** Returns this device's time, again every second while `isTicking`. */
export function useNow(isTicking: boolean): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!isTicking) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [isTicking]);
  return now;
}

/** Returns the server's time, again every second while `isTicking`. */
export function useServerNow(isTicking: boolean): number {
  const offset = usePage((state) => state.clockOffsetMs);
  return useNow(isTicking) + offset;
}

/** Returns the seconds that are left of an error's wait, or 0. Another error has a wait of its own. */
export function useCountdown(error: ErrorInfo): number {
  const [wait, setWait] = useState(() => waitOf(error));
  if (wait.error !== error) setWait(waitOf(error));
  const now = useNow(wait.until > Date.now());
  return Math.max(0, Math.ceil((wait.until - now) / 1_000));
}

const waitOf = (error: ErrorInfo): { readonly error: ErrorInfo; readonly until: number } => ({
  error,
  until: error.retryAfterS === null ? 0 : Date.now() + error.retryAfterS * 1_000,
});
