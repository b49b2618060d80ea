// Paths of child runs: two parts a level, such as `s2.1.t3.c1`.

import type { Lane, Path } from "./types";

/** Returns the path above; null for the run itself. */
export function parentPath(path: Path): Path | null {
  return path === "" ? null : path.split(".").slice(0, -2).join(".");
}

/** Returns the place of a child run in its parent: the step or the call that it works on. */
export function childOrigin(path: Path): Pick<Lane, "parent" | "step" | "call"> {
  const [first = "", second = ""] = path.split(".").slice(-2);
  const parent = parentPath(path);
  // A run that judges an answer works on no step and no call.
  if (first === "review") return { parent, step: null, call: null };
  if (second.startsWith("c")) return { parent, step: null, call: `${first}.${second}` };
  return { parent, step: first, call: null };
}
