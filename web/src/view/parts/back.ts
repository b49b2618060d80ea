/** Back closes the topmost layer, such as a file in view: an open layer is an entry of the browser's history. */

import { useEffect, useRef } from "react";

/** The entry of a layer that was closed by hand, until it is left. */
let leaving: { readonly layer: number; readonly timer: ReturnType<typeof setTimeout> } | null = null;

const layerOf = (state: unknown): number =>
  typeof state === "object" && state !== null && "layer" in state && typeof state.layer === "number" ? state.layer : 0;

function enter(): number {
  const current = layerOf(history.state);
  if (leaving) {
    clearTimeout(leaving.timer);
    const { layer } = leaving;
    leaving = null;
    if (layer === current) return layer;
  }
  history.pushState({ layer: current + 1 }, "");
  return current + 1;
}

function leave(layer: number): void {
  if (layerOf(history.state) !== layer) return;
  const timer = setTimeout(() => {
    leaving = null;
    // A new address has its own entry, which stays.
    if (layerOf(history.state) === layer) history.back();
  });
  leaving = { layer, timer };
}

/** Calls `onClose` when the reader goes back while the component is shown. */
export function useBackCloses(isOn: boolean, onClose: () => void): void {
  const close = useRef(onClose);
  close.current = onClose;
  useEffect(() => {
    if (!isOn) return;
    const layer = enter();
    const onBack = (): void => {
      if (layerOf(history.state) < layer) close.current();
    };
    addEventListener("popstate", onBack);
    return () => {
      removeEventListener("popstate", onBack);
      leave(layer);
    };
  }, [isOn]);
}
