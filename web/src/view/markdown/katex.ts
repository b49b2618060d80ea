/** Loaded with the first formula. */

import katex from "katex";

/** Renders a formula into an element as MathML nodes; false for a formula with an error. */
export function renderFormula(tex: string, isBlock: boolean, place: HTMLElement): boolean {
  try {
    katex.render(tex, place, {
      output: "mathml",
      displayMode: isBlock,
      throwOnError: true,
      strict: "ignore",
      trust: false,
      maxExpand: 200,
      maxSize: 20,
    });
    return true;
  } catch {
    place.replaceChildren();
    return false;
  }
}
