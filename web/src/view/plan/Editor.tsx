import { MenuButton, MenuItemCheckbox, MenuProvider } from "@ariakit/react";
import { type KeyboardEvent, memo, type PointerEvent, type ReactNode, useRef } from "react";
import { useWords } from "../../words";
import { Icon } from "../parts/Icon";
import menu from "../parts/menu.module.css";
import { PopMenu } from "../parts/PopMenu";
import parts from "../parts/parts.module.css";
import { comesAfter, type EditStep, movedStep, newStep, withoutStep } from "./steps";
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
  const latest = useRef(steps);
  latest.current = steps;
  const focusStep = (key: string): void => {
    requestAnimationFrame(() =>
      list.current?.querySelector<HTMLElement>(`[data-step="${CSS.escape(key)}"] textarea`)?.focus(),
    );
  };
  const change = (key: string, part: Partial<EditStep>): void =>
    onChange(latest.current.map((step) => (step.key === key ? { ...step, ...part } : step)));
  const indexOf = (key: string): number => latest.current.findIndex((step) => step.key === key);
  const move = (key: string, by: -1 | 1): void => {
    onChange(movedStep(latest.current, indexOf(key), indexOf(key) + by));
    focusStep(key);
  };
  /** Moves a step past the step below the pointer, once the pointer is past its middle. */
  const drag = (key: string, event: PointerEvent): void => {
    const below = document.elementFromPoint(event.clientX, event.clientY)?.closest<HTMLElement>("[data-step]");
    if (!below || !list.current?.contains(below) || below.dataset.step === key) return;
    const { top, height } = below.getBoundingClientRect();
    const [from, to] = [indexOf(key), indexOf(below.dataset.step ?? "")];
    const isPast = to > from ? event.clientY > top + height / 2 : event.clientY < top + height / 2;
    if (isPast) onChange(movedStep(latest.current, from, to));
  };
  const add = (at: number, after: string | null): void => {
    const step = newStep(after);
    onChange([...latest.current.slice(0, at), step, ...latest.current.slice(at)]);
    focusStep(step.key);
  };
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
            isChanged={isChanged(step, original)}
            others={steps}
            onChange={change}
            onMove={move}
            onDrag={drag}
            onAdd={() => add(index + 1, step.key)}
            onRemove={() => onChange(withoutStep(latest.current, step.key))}
          />
        ))}
      </ol>
      <button type="button" className={`${parts.button} ${parts.plain}`} onClick={() => add(steps.length, null)}>
        {words.plan.add}
      </button>
    </>
  );
}

function isChanged(step: EditStep, original: readonly EditStep[]): boolean {
  const before = original.find((other) => other.key === step.key);
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
  readonly others: readonly EditStep[];
  readonly onChange: (key: string, part: Partial<EditStep>) => void;
  readonly onMove: (key: string, by: -1 | 1) => void;
  readonly onDrag: (key: string, event: PointerEvent) => void;
  readonly onAdd: () => void;
  readonly onRemove: () => void;
}

const EditorStep = memo(function EditorStep({
  step,
  number,
  isFirst,
  isLast,
  isChanged: hasChanged,
  others,
  onChange,
  onMove,
  onDrag,
  onAdd,
  onRemove,
}: EditorStepProps): ReactNode {
  const words = useWords();
  const name = words.plan.stepLabel(number);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!event.altKey || step.hasBegun || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
    event.preventDefault();
    if (event.key === "ArrowUp" ? !isFirst : !isLast) onMove(step.key, event.key === "ArrowUp" ? -1 : 1);
  };
  return (
    <li className={styles.editorStep} data-step={step.key} onKeyDown={onKeyDown}>
      <span
        className={step.hasBegun ? styles.number : `${styles.number} ${styles.handle}`}
        title={step.hasBegun ? undefined : words.plan.drag}
        onPointerDown={(event) => step.hasBegun || event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={(event) => event.currentTarget.hasPointerCapture(event.pointerId) && onDrag(step.key, event)}
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
              onChange={(event) => onChange(step.key, { details: event.target.value })}
            />
          </>
        )}
        {step.hasBegun ? null : (
          <div className={styles.editorRow}>
            <After step={step} others={others} onChange={onChange} />
            <input
              className={styles.agent}
              aria-label={`${name}: ${words.plan.agent}`}
              placeholder={words.plan.anyAgent}
              value={step.agent}
              onChange={(event) => onChange(step.key, { agent: event.target.value })}
            />
            <span className={styles.editorActs}>
              <button
                type="button"
                className={styles.small}
                aria-label={`${words.plan.moveUp}: ${name}`}
                disabled={isFirst}
                onClick={() => onMove(step.key, -1)}
              >
                <Icon name="up" />
              </button>
              <button
                type="button"
                className={styles.small}
                aria-label={`${words.plan.moveDown}: ${name}`}
                disabled={isLast}
                onClick={() => onMove(step.key, 1)}
              >
                <Icon name="lower" />
              </button>
              <button
                type="button"
                className={styles.small}
                aria-label={`${words.plan.addAfter}: ${name}`}
                onClick={onAdd}
              >
                <Icon name="plus" />
              </button>
              <button
                type="button"
                className={styles.small}
                aria-label={`${words.plan.removeStep}: ${name}`}
                onClick={onRemove}
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

/** Chooses the steps that come first. A choice that would close a circle is not offered. */
function After({ step, others, onChange }: Pick<EditorStepProps, "step" | "others" | "onChange">): ReactNode {
  const words = useWords();
  const numbers = others.flatMap((other, index) => (step.dependsOn.includes(other.key) ? [index + 1] : []));
  return (
    <MenuProvider
      values={{ after: [...step.dependsOn] }}
      setValues={(values) => onChange(step.key, { dependsOn: toTexts(values.after) })}
    >
      <MenuButton className={styles.after}>
        {words.plan.dependsOn(numbers)}
      </MenuButton>
      <PopMenu>
        {others.map((other, index) =>
          other.key === step.key || comesAfter(others, other.key, step.key) ? null : (
            <MenuItemCheckbox key={other.key} className={menu.item} name="after" value={other.key}>
              <span>
                {index + 1}. {other.stage || other.details.slice(0, 60)}
              </span>
              <span aria-hidden="true">{step.dependsOn.includes(other.key) ? "✓" : ""}</span>
            </MenuItemCheckbox>
          ),
        )}
      </PopMenu>
    </MenuProvider>
  );
}

const toTexts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
