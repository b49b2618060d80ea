import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import type { PlanStep } from "../../store/types";
import { useWords } from "../../words";
import { Dialog } from "../parts/Dialog";
import { ErrorBox } from "../parts/ErrorBox";
import parts from "../parts/parts.module.css";
import { conversationOf, newestRun, useActions, usePage } from "../store";
import { Editor } from "./Editor";
import { type EditStep, toEditSteps } from "./steps";
import styles from "./plan.module.css";

const NO_STEPS: readonly PlanStep[] = [];

/** Changes the plan of the newest run. */
export function PlanDialog({ onClose }: { onClose: () => void }): ReactNode {
  const words = useWords();
  const actions = useActions();
  const current = usePage((state) => newestRun(state)?.plan?.steps ?? NO_STEPS);
  const edit = usePage((state) => conversationOf(state)?.planEdit);
  const [base, setBase] = useState(() => toEditSteps(current));
  const [steps, setSteps] = useState(base);
  /** The version that was edited: a save over a newer one is a conflict. */
  const [version, setVersion] = useState<number | null>(null);
  const wasSaving = useRef(false);
  const isSaving = edit?.state === "saving";

  useEffect(() => {
    if (isSaving) wasSaving.current = true;
    else if (edit?.state === "saved" && wasSaving.current) {
      actions.closePlanEdit();
      onClose();
    }
  }, [isSaving, edit?.state, actions, onClose]);
  useEffect(() => {
    void actions.readPlanVersion().then(setVersion);
  }, [actions]);
  // Steps that begin meanwhile keep the text of the run.
  const live = useMemo(() => mergeBegun(steps, current), [steps, current]);

  const close = (): void => {
    actions.closePlanEdit();
    onClose();
  };
  const save = (): void => actions.changePlan(live.map(toRequest), conflict ? conflict.version : version);
  const isWrong = live.length === 0 || live.some((step) => !step.details.trim());
  const conflict = edit?.state === "conflict" ? edit : null;
  return (
    <Dialog title={words.plan.title} onClose={close} size="wide">
      <p className={parts.soft}>{conflict ? words.plan.conflict : words.plan.editHint}</p>
      <div className={conflict ? styles.both : undefined}>
        <section aria-label={words.plan.yours}>
          {conflict ? <h3 className={styles.title}>{words.plan.yours}</h3> : null}
          <Editor steps={live} original={base} onChange={setSteps} />
        </section>
        {conflict ? (
          <section aria-label={words.plan.theirs}>
            <h3 className={styles.title}>{words.plan.theirs}</h3>
            <ol className={styles.theirs}>
              {conflict.plan.steps.map((step) => (
                <li key={step.id}>
                  {step.details} <span className={parts.faint}>{words.plan.status[step.status]}</span>
                </li>
              ))}
            </ol>
          </section>
        ) : null}
      </div>
      {edit?.state === "failed" ? <ErrorBox error={edit.error} /> : null}
      <div className={parts.end}>
        <button type="button" className={`${parts.button} ${parts.plain}`} onClick={close}>
          {words.page.cancel}
        </button>
        {conflict ? (
          <button
            type="button"
            className={parts.button}
            onClick={() => {
              const theirs = toEditSteps(conflict.plan.steps);
              setBase(theirs);
              setSteps(theirs);
              setVersion(conflict.version);
              actions.closePlanEdit();
            }}
          >
            {words.plan.takeTheirs}
          </button>
        ) : null}
        <button
          type="button"
          className={`${parts.button} ${parts.go}`}
          disabled={isWrong || isSaving}
          onClick={save}
        >
          {isSaving ? words.plan.saving : conflict ? words.plan.keepYours : words.page.save}
        </button>
      </div>
    </Dialog>
  );
}

function mergeBegun(steps: readonly EditStep[], current: readonly PlanStep[]): readonly EditStep[] {
  const begun = new Map(
    toEditSteps(current)
      .filter((step) => step.hasBegun)
      .map((step) => [step.key, step]),
  );
  const merged = steps.map((step) => (step.hasBegun ? step : (begun.get(step.key) ?? step)));
  return merged.every((step, index) => step === steps[index]) ? steps : merged;
}

function toRequest(step: EditStep) {
  return {
    id: step.id ?? step.key,
    stage: step.stage,
    details: step.details.trim(),
    depends_on: [...step.dependsOn],
    agent: step.agent.trim(),
  };
}
