import { MenuButton, MenuItemCheckbox, MenuProvider } from "@ariakit/react";
import { type KeyboardEvent, memo, type PointerEvent, type ReactNode, type RefObject, useMemo, useRef } from "react";
import { useWords } from "../../words";
import { Icon } from "../parts/Icon";
import menu from "../parts/menu.module.css";
import { PopMenu } from "../parts/PopMenu";
import parts from "../parts/parts.module.css";
import { type EditStep, movedStep, newStep, stepsAfter, withoutStep } from "./steps";
import styles from "./plan.module.css";

/** The longest text of a step, in characters. */
const LONGEST_STEP = 2_000;

interface EditorProps {
  readonly steps: readonly EditStep[];
  readonly original: readonly EditStep[];
  readonly onChange: (steps: readonly EditStep[]) => void;
}

/** Steps that can be changed, added, removed, moved and connected. */
export function Editor({ steps, original, onChange }: EditorProps): ReactNode {
  const words = useWords();
  const list = useRef<HTMLOListElement>(null);
  const latest = useRef({ steps, onChange });
  latest.current = { steps, onChange };
  // The same object at each key press, so that only the changed step is rendered again.
  const actions = useMemo(() => actionsOn(list, latest), []);
  const before = useMemo(() => new Map(original.map((step) => [step.key, step])), [original]);
  const numbers = new Map(steps.map((step, index) => [step.key, index + 1]));
  return (
    <>
      <ol className={styles.editor} ref={list}>
        {steps.map((step, index) => (
          <EditorStep
            key={step.key}
            step={step}
            number={index + 1}
            isFirst={index === 0 || steps[index - 1]?.hasBegun === true}
            isLast={index === steps.length - 1}
            isChanged={isChanged(step, before.get(step.key))}
            after={step.dependsOn.flatMap((key) => numbers.get(key) ?? []).sort((one, other) => one - other).join()}
            actions={actions}
          />
        ))}
      </ol>
      <button type="button" className={`${parts.button} ${parts.plain}`} onClick={() => actions.add(null)}>
        {words.plan.add}
      </button>
    </>
  );
}

/** The actions of a step's fields and buttons. */
interface StepActions {
  steps(): readonly EditStep[];
  change(key: string, part: Partial<EditStep>): void;
  move(key: string, by: -1 | 1): void;
  /** Moves a step past the step below the pointer, once the pointer is past its middle. */
  drag(key: string, event: PointerEvent): void;
  /** Adds a step after another one; with null, at the end. */
  add(after: string | null): void;
  remove(key: string): void;
}

function actionsOn(
  list: RefObject<HTMLOListElement | null>,
  latest: RefObject<Pick<EditorProps, "steps" | "onChange">>,
): StepActions {
  const steps = (): readonly EditStep[] => latest.current.steps;
  const onChange = (next: readonly EditStep[]): void => latest.current.onChange(next);
  const indexOf = (key: string): number => steps().findIndex((step) => step.key === key);
  const focusStep = (key: string): void => {
    requestAnimationFrame(() =>
      list.current?.querySelector<HTMLElement>(`[data-step="${CSS.escape(key)}"] textarea`)?.focus(),
    );
  };
  return {
    steps,
    change: (key, part) => onChange(steps().map((step) => (step.key === key ? { ...step, ...part } : step))),
    move(key, by) {
      onChange(movedStep(steps(), indexOf(key), indexOf(key) + by));
      focusStep(key);
    },
    drag(key, event) {
      const below = document.elementFromPoint(event.clientX, event.clientY)?.closest<HTMLElement>("[data-step]");
      if (!below || !list.current?.contains(below) || below.dataset.step === key) return;
      const { top, height } = below.getBoundingClientRect();
      const [from, to] = [indexOf(key), indexOf(below.dataset.step ?? "")];
      const isPast = to > from ? event.clientY > top + height / 2 : event.clientY < top + height / 2;
      if (isPast) onChange(movedStep(steps(), from, to));
    },
    add(after) {
      const step = newStep(after);
      const at = after === null ? steps().length : indexOf(after) + 1;
      onChange([...steps().slice(0, at), step, ...steps().slice(at)]);
      focusStep(step.key);
    },
    remove: (key) => onChange(withoutStep(steps(), key)),
  };
}

function isChanged(step: EditStep, before: EditStep | undefined): boolean {
  return (
    before === undefined ||
    before.details !== step.details ||
    before.agent !== step.agent ||
    before.dependsOn.join() !== step.dependsOn.join()
  );
}

interface EditorStepProps {
  readonly step: EditStep;
  readonly number: number;
  readonly isFirst: boolean;
  readonly isLast: boolean;
  readonly isChanged: boolean;
  /** The numbers of the steps that come first, with commas. */
  readonly after: string;
  readonly actions: StepActions;
}

const EditorStep = memo(function EditorStep({
  step,
  number,
  isFirst,
  isLast,
  isChanged: hasChanged,
  after,
  actions,
}: EditorStepProps): ReactNode {
  const words = useWords();
  const name = words.plan.stepLabel(number);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!event.altKey || step.hasBegun || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
    event.preventDefault();
    if (event.key === "ArrowUp" ? !isFirst : !isLast) actions.move(step.key, event.key === "ArrowUp" ? -1 : 1);
  };
  return (
    <li className={styles.editorStep} data-step={step.key} onKeyDown={onKeyDown}>
      <span
        className={step.hasBegun ? styles.number : `${styles.number} ${styles.handle}`}
        title={step.hasBegun ? undefined : words.plan.drag}
        onPointerDown={(event) => step.hasBegun || event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={(event) => event.currentTarget.hasPointerCapture(event.pointerId) && actions.drag(step.key, event)}
      >
        {number}
      </span>
      <div className={styles.editorFields}>
        {step.hasBegun ? (
          <p className={styles.fixed}>
            {step.stage ? `${step.stage}: ` : ""}
            {step.details} <span className={parts.faint}>({words.plan.begun})</span>
          </p>
        ) : (
          <>
            {step.stage ? <p className={styles.stage}>{step.stage}</p> : null}
            <textarea
              className={`${parts.field} ${hasChanged ? parts.isChanged : ""}`}
              aria-label={name}
              rows={Math.min(5, Math.max(1, Math.ceil(step.details.length / 60)))}
              maxLength={LONGEST_STEP}
              value={step.details}
              onChange={(event) => actions.change(step.key, { details: event.target.value })}
            />
          </>
        )}
        {step.hasBegun ? null : (
          <div className={styles.editorRow}>
            <After step={step} after={after} actions={actions} />
            <input
              className={styles.agent}
              aria-label={`${name}: ${words.plan.agent}`}
              placeholder={words.plan.anyAgent}
              value={step.agent}
              onChange={(event) => actions.change(step.key, { agent: event.target.value })}
            />
            <span className={styles.editorActs}>
              <button
                type="button"
                className={styles.small}
                aria-label={`${words.plan.moveUp}: ${name}`}
                disabled={isFirst}
                onClick={() => actions.move(step.key, -1)}
              >
                <Icon name="up" />
              </button>
              <button
                type="button"
                className={styles.small}
                aria-label={`${words.plan.moveDown}: ${name}`}
                disabled={isLast}
                onClick={() => actions.move(step.key, 1)}
              >
                <Icon name="lower" />
              </button>
              <button
                type="button"
                className={styles.small}
                aria-label={`${words.plan.addAfter}: ${name}`}
                onClick={() => actions.add(step.key)}
              >
                <Icon name="plus" />
              </button>
              <button
                type="button"
                className={styles.small}
                aria-label={`${words.plan.removeStep}: ${name}`}
                onClick={() => actions.remove(step.key)}
              >
                <Icon name="close" />
              </button>
            </span>
          </div>
        )}
      </div>
    </li>
  );
});

/** Chooses the steps that come first. */
function After({ step, after, actions }: Pick<EditorStepProps, "step" | "after" | "actions">): ReactNode {
  const words = useWords();
  return (
    <MenuProvider
      values={{ after: [...step.dependsOn] }}
      setValues={(values) => actions.change(step.key, { dependsOn: toTexts(values.after) })}
    >
      <MenuButton className={styles.after}>
        {words.plan.dependsOn(after === "" ? [] : after.split(",").map(Number))}
      </MenuButton>
      <PopMenu>
        <Choices step={step} actions={actions} />
      </PopMenu>
    </MenuProvider>
  );
}

/** The other steps, while the menu is open. A choice that would close a circle is not offered. */
function Choices({ step, actions }: Pick<EditorStepProps, "step" | "actions">): ReactNode {
  const steps = actions.steps();
  const later = stepsAfter(steps, step.key);
  return steps.map((other, index) =>
    later.has(other.key) ? null : (
      <MenuItemCheckbox key={other.key} className={menu.item} name="after" value={other.key}>
        <span>
          {index + 1}. {other.stage || other.details.slice(0, 60)}
        </span>
        <span aria-hidden="true">{step.dependsOn.includes(other.key) ? "✓" : ""}</span>
      </MenuItemCheckbox>
    ),
  );
}

const toTexts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
