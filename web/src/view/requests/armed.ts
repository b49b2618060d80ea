/** A card takes no click within 400 ms of appearing or moving, so that no click meant for something else decides. */

import { type RefObject, useEffect, useRef, useState } from "react";

const REST_MS = 400;

interface Armed {
  /** Tells if the element has rested long enough. */
  readonly isArmed: () => boolean;
  /** False while a click would be ignored, for the look of the buttons. */
  readonly looksArmed: boolean;
}

export function useArmed(place: RefObject<HTMLElement | null>): Armed {
  const movedAt = useRef(performance.now());
  const [looksArmed, setLooksArmed] = useState(false);
  useEffect(() => {
    movedAt.current = performance.now();
    let top: number | null = null;
    let frame = 0;
    const look = (now: number): void => {
      const next = place.current?.getBoundingClientRect().top ?? null;
      if (next !== null && top !== null && Math.abs(next - top) > 1) movedAt.current = now;
      top = next;
      setLooksArmed(now - movedAt.current >= REST_MS);
      frame = requestAnimationFrame(look);
    };
    const restart = (): void => {
      cancelAnimationFrame(frame);
      movedAt.current = performance.now();
      if (document.visibilityState === "visible") frame = requestAnimationFrame(look);
    };
    restart();
    document.addEventListener("visibilitychange", restart);
    return () => {
      cancelAnimationFrame(frame);
      document.removeEventListener("visibilitychange", restart);
    };
  }, [place]);
  return { isArmed: () => performance.now() - movedAt.current >= REST_MS, looksArmed };
}
