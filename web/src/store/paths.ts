// Paths of child runs: two or three parts a level, such as `s2.1.t3.c1` or `t2.before.c1`.

import type { Lane, Path } from "./types";

/** The last level of a path. */
const LAST_LEVEL = /(?:t\d+\.before|[^.]+)\.[^.]+$/;

/** Returns the path above; null for the run itself. */
export function parentPath(path: Path): Path | null {
  return path === "" ? null : path.replace(LAST_LEVEL, "").replace(/\.$/, "");
}

/** Returns the place of a child run in its parent: the step or the call that it works on. */
export function childOrigin(path: Path): Pick<Lane, "parent" | "step" | "call"> {
  const [level = ""] = LAST_LEVEL.exec(path) ?? [];
  const parent = parentPath(path);
  if (level.includes(".c")) return { parent, step: null, call: level };
  // A run that judges an answer works on no step and no call.
  if (level.startsWith("review.")) return { parent, step: null, call: null };
  return { parent, step: level.split(".")[0] ?? "", call: null };
}
