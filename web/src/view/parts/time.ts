/** Clocks of components. */

import { useEffect, useState } from "react";
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

/** Returns the seconds that are left of a wait, or 0. */
export function useCountdown(seconds: number | null): number {
  const [until] = useState(() => (seconds === null ? 0 : Date.now() + seconds * 1_000));
  const left = Math.max(0, Math.ceil((until - useNow(until > Date.now())) / 1_000));
  return left;
}
