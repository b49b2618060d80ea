/** Steps of a plan for display and for changes. */

import type { PlanStep } from "../../store/types";

/** A step in the editor. `key` stays while its place and its text change. */
export interface EditStep {
  readonly key: string;
  /** Null for a new step. */
  readonly id: string | null;
  readonly stage: string;
  readonly details: string;
  readonly dependsOn: readonly string[];
  /** Empty for any agent. */
  readonly agent: string;
  /** The step has begun: its text stays. */
  readonly hasBegun: boolean;
}

export function toEditSteps(steps: readonly PlanStep[]): readonly EditStep[] {
  return steps.map((step) => ({
    key: step.id,
    id: step.id,
    stage: step.stage,
    details: step.details,
    dependsOn: step.depends_on,
    agent: step.agent ?? "",
    hasBegun: step.status !== "not_started",
  }));
}

let newSteps = 0;

export function newStep(after: string | null): EditStep {
  newSteps += 1;
  return {
    key: `new-${newSteps}`,
    id: null,
    stage: "",
    details: "",
    dependsOn: after === null ? [] : [after],
    agent: "",
    hasBegun: false,
  };
}

/** Removes a step; the steps after it then follow the steps before it. */
export function withoutStep(steps: readonly EditStep[], key: string): readonly EditStep[] {
  const removed = steps.find((step) => step.key === key);
  if (!removed) return steps;
  return steps
    .filter((step) => step.key !== key)
    .map((step) =>
      step.dependsOn.includes(key)
        ? {
            ...step,
            dependsOn: [...new Set([...step.dependsOn.filter((other) => other !== key), ...removed.dependsOn])],
          }
        : step,
    );
}

/** Moves a step to the place of another one. Steps that have begun keep their places. */
export function movedStep(steps: readonly EditStep[], from: number, to: number): readonly EditStep[] {
  const step = steps[from];
  if (!step || step.hasBegun || steps[to] === undefined || steps[to].hasBegun) return steps;
  const others = steps.filter((other) => other !== step);
  return [...others.slice(0, to), step, ...others.slice(to)];
}

/** Returns a step and all steps that come after it, directly or through steps between them. */
export function stepsAfter(steps: readonly EditStep[], key: string): ReadonlySet<string> {
  const following = new Map<string, string[]>();
  for (const step of steps) {
    for (const before of step.dependsOn) {
      const known = following.get(before);
      if (known) known.push(step.key);
      else following.set(before, [step.key]);
    }
  }
  // A set is walked in its order of insertion, with what is added meanwhile.
  const later = new Set([key]);
  for (const step of later) for (const next of following.get(step) ?? []) later.add(next);
  return later;
}

/** Groups steps by dependency: the steps of a layer can work at once. A step in a cycle is in the last layer. */
export function layersOf(steps: readonly PlanStep[]): readonly (readonly PlanStep[])[] {
  const level = new Map<string, number>();
  const ids = new Set(steps.map((step) => step.id));
  let rest = steps;
  const layers: PlanStep[][] = [];
  while (rest.length > 0) {
    const ready = rest.filter((step) => step.depends_on.every((id) => !ids.has(id) || level.has(id)));
    const layer = ready.length > 0 ? ready : rest;
    for (const step of layer) level.set(step.id, layers.length);
    layers.push([...layer]);
    const placed = new Set(layer);
    rest = rest.filter((step) => !placed.has(step));
  }
  return layers;
}
