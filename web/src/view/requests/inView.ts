/** The requests whose buttons are in view: their cards need no pointer to them. */

import { type RefObject, useCallback, useEffect, useSyncExternalStore } from "react";

/** The part of an element that must be in view. The line above the box would cover the rest of it. */
const MOST = 0.5;

/** The request of each place in view; a card may be in the conversation and in the panel. */
const shown = new Map<Element, string>();
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function change(place: Element, request: string | null): void {
  if (request === null) shown.delete(place);
  else shown.set(place, request);
  for (const listener of listeners) listener();
}

/** Reports while the element is in view. */
export function useReportInView(place: RefObject<Element | null>, request: string): void {
  useEffect(() => {
    const element = place.current;
    // jsdom has no observer.
    if (!element || typeof IntersectionObserver === "undefined") return;
    const observer = new IntersectionObserver(
      (entries) => change(element, (entries.at(-1)?.intersectionRatio ?? 0) >= MOST ? request : null),
      { threshold: MOST },
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      change(element, null);
    };
  }, [place, request]);
}

export function useIsInView(request: string | null): boolean {
  return useSyncExternalStore(
    subscribe,
    useCallback(() => request !== null && [...shown.values()].includes(request), [request]),
  );
}
