import { createContext, useContext } from "react";
import type { Citation } from "../../store/types";

/** The surroundings of a text: files and sources that it may name. */
export interface TextSurroundings {
  /** Returns the address of an image of the session, by file name. */
  imageOf(name: string): string | null;
  hasFile(name: string): boolean;
  openFile(name: string): void;
  /** Shows a source of the answer of a turn. */
  openSource(turn: string, n: number): void;
}

export const NO_SURROUNDINGS: TextSurroundings = {
  imageOf: () => null,
  hasFile: () => false,
  openFile: () => undefined,
  openSource: () => undefined,
};

export const SurroundingsContext = createContext<TextSurroundings>(NO_SURROUNDINGS);
export const useSurroundings = (): TextSurroundings => useContext(SurroundingsContext);

/** The sources that a text cites. */
export interface CitedSources {
  readonly byNumber: ReadonlyMap<number, Citation>;
  /** Shows a source; null if citations are links. */
  readonly open: ((n: number) => void) | null;
}

export const CitedSourcesContext = createContext<CitedSources>({ byNumber: new Map(), open: null });
export const useCitedSources = (): CitedSources => useContext(CitedSourcesContext);
