import { createContext, useContext } from "react";
import type { Citation } from "./citations";

/** The surroundings of a text: files and sources that it may name. */
export interface TextSurroundings {
  readonly citations: ReadonlyMap<number, Citation>;
  /** Returns the address of an image of the session, by file name. */
  imageOf(name: string): string | null;
  hasFile(name: string): boolean;
  openFile(name: string): void;
  openSource(n: number): void;
}

export const NO_SURROUNDINGS: TextSurroundings = {
  citations: new Map(),
  imageOf: () => null,
  hasFile: () => false,
  openFile: () => undefined,
  openSource: () => undefined,
};

export const SurroundingsContext = createContext<TextSurroundings>(NO_SURROUNDINGS);
export const useSurroundings = (): TextSurroundings => useContext(SurroundingsContext);
