import { type ReactNode, useEffect, useMemo, useState } from "react";
import { Editor } from "../plan/Editor";
import type { EditStep } from "../plan/steps";
import { Hidden } from "./Hidden";
import { planSteps } from "./kinds";
import styles from "./requests.module.css";
import { isObject, isSame, type JsonObject } from "./schema";

interface PlanArgumentsProps {
  readonly value: JsonObject;
  readonly original: unknown;
  readonly onChange: (value: JsonObject) => void;
  readonly onWrong: (isWrong: boolean) => void;
}

/** The arguments of `planning` in the plan editor. */
export function PlanArguments({ value, original, onChange, onWrong }: PlanArgumentsProps): ReactNode {
  const before = useMemo(() => (isObject(original) ? original : {}), [original]);
  const first = useMemo(() => toSteps(before), [before]);
  const [steps, setSteps] = useState(() => (isSame(value, before) ? first : toSteps(value)));
  const isWrong = steps.length === 0 || steps.some((step) => !step.details.trim());
  useEffect(() => onWrong(isWrong), [onWrong, isWrong]);
  const change = (next: readonly EditStep[]): void => {
    setSteps(next);
    onChange(isSame(next, first) ? before : toArguments(before, next));
  };
  const title = typeof before.title === "string" ? before.title : "";
  return (
    <div className={styles.form}>
      {title ? <p className={styles.subject}>{title}</p> : null}
      <Hidden text={[title, ...steps.map((step) => step.details)].join("\n")} />
      <Editor steps={steps} original={first} onChange={change} />
    </div>
  );
}

function toSteps(parameters: JsonObject): readonly EditStep[] {
  const steps = planSteps(parameters) ?? [];
  const before = Array.isArray(parameters.depends_on) ? parameters.depends_on : [];
  const agents = Array.isArray(parameters.agents) ? parameters.agents : [];
  return steps.map((details, index) => {
    const numbers: unknown = before[index];
    const agent: unknown = agents[index];
    return {
      key: `step-${index + 1}`,
      id: null,
      stage: "",
      details,
      dependsOn: Array.isArray(numbers)
        ? numbers
            .filter((number) => typeof number === "number" && number >= 1 && number <= steps.length)
            .map((number) => `step-${number}`)
        : [],
      agent: typeof agent === "string" ? agent : "",
      hasBegun: false,
    };
  });
}

function toArguments(before: JsonObject, steps: readonly EditStep[]): JsonObject {
  const numbers = new Map(steps.map((step, index) => [step.key, index + 1]));
  const hasOrder = Array.isArray(before.depends_on) || steps.some((step) => step.dependsOn.length > 0);
  const hasAgents = Array.isArray(before.agents) || steps.some((step) => step.agent !== "");
  return {
    ...before,
    steps: steps.map((step) => step.details),
    ...(hasOrder ? { depends_on: steps.map((step) => step.dependsOn.flatMap((key) => numbers.get(key) ?? [])) } : {}),
    ...(hasAgents ? { agents: steps.map((step) => step.agent) } : {}),
  };
}
