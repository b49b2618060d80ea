// The scrolling of a conversation's rows: to a place that is asked for, and afterwards by the reader alone.

import { type RefObject, useCallback, useEffect, useMemo, useRef } from "react";
import type { VirtualizerHandle } from "virtua";
import type { TalkRow } from "./rows";

/** The time in which the rows near a new place get their sizes, in milliseconds. */
const SETTLING = 1_000;
/** The most pixels above the view where rows may be in the document. */
const ABOVE = 1_200;

/** The events of a reader who scrolls, or is about to. */
const INTENTS = ["wheel", "touchstart", "pointerdown", "keydown"] as const;

interface Place {
  readonly index: number;
  readonly align: "start" | "center" | "end";
}

export interface Seek {
  /** Scrolls to a row. */
  to(place: Place): void;
  /** Scrolls again, as sizes have changed; does nothing once the reader scrolls. */
  again(): void;
}

/**
 * Scrolls to rows whose sizes are only known when they are shown. A place holds for a moment, until its rows have
 * their sizes; the reader's own scrolling ends that at once. `space` is the room above a row at the start.
 */
export function useSeek(
  scroller: RefObject<HTMLElement | null>,
  inner: RefObject<HTMLElement | null>,
  list: RefObject<VirtualizerHandle | null>,
  space: number,
): Seek {
  const place = useRef<(Place & { readonly untilMs: number }) | null>(null);
  const again = useCallback((): void => {
    const { current } = place;
    const view = scroller.current;
    if (!current || !view || !inner.current || !list.current) return;
    if (performance.now() > current.untilMs) {
      place.current = null;
      return;
    }
    const begin = inner.current.getBoundingClientRect().top - view.getBoundingClientRect().top + view.scrollTop;
    const top = begin + list.current.getItemOffset(current.index);
    const rest = view.clientHeight - list.current.getItemSize(current.index);
    view.scrollTo({ top: top - { start: space, center: rest / 2, end: rest }[current.align], behavior: "instant" });
  }, [scroller, inner, list, space]);
  useEffect(() => {
    const view = scroller.current;
    const leave = (): void => {
      place.current = null;
    };
    for (const intent of INTENTS) view?.addEventListener(intent, leave, { passive: true });
    return () => {
      for (const intent of INTENTS) view?.removeEventListener(intent, leave);
    };
  }, [scroller]);
  return useMemo(
    () => ({
      to: (next) => {
        place.current = { ...next, untilMs: performance.now() + SETTLING };
        again();
      },
      again,
    }),
    [again],
  );
}

/**
 * Returns the rows of the questions whose answers are in the document: their headings follow those of the questions.
 * `indexAt` returns the row at a distance from the top.
 */
export function questionsInView(
  rows: readonly TalkRow[],
  scrollTop: number,
  indexAt: (offset: number) => number,
): readonly number[] {
  const last = indexAt(scrollTop);
  const questions: number[] = [];
  for (let at = Math.min(last, rows.length - 1), from = indexAt(Math.max(0, scrollTop - ABOVE)); at >= 0; at -= 1) {
    if (rows[at]?.kind !== "question") continue;
    questions.unshift(at);
    if (at <= from) break;
  }
  return questions;
}
