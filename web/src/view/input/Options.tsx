import { MenuButton, MenuGroup, MenuGroupLabel, MenuItemCheckbox, MenuItemRadio, MenuProvider } from "@ariakit/react";
import { type ReactNode, useId } from "react";
import type { HumanChoice } from "../../store/types";
import { textIn, useWords } from "../../words";
import menu from "../parts/menu.module.css";
import { PopMenu } from "../parts/PopMenu";
import { useActions, usePage } from "../store";
import styles from "./input.module.css";

/** More modes than this are a list. */
const FEW_MODES = 3;

const KNOWN = ["react", "plan_solve"] as const;

export function ModeChoice(): ReactNode {
  const words = useWords();
  const actions = useActions();
  const mode = usePage((state) => state.draft.mode);
  const modes = usePage((state) => state.modes);
  const choices =
    modes.length > 0
      ? modes
      : KNOWN.map((name) => ({ name, title: name, description: "", is_default: name === "react" }));
  const current = choices.some((choice) => choice.name === mode)
    ? mode
    : (choices.find((choice) => choice.is_default)?.name ?? "react");
  const id = useId();
  const title = (name: string, fallback: string): string => textIn(words.input.modes, name) ?? fallback;
  const note = (name: string, fallback: string): string => textIn(words.input.modeNotes, name) ?? fallback;
  // Until the modes are known, the control keeps the form that it has with the shipped modes.
  if (modes.length === 0 || choices.length > FEW_MODES) {
    return (
      <MenuProvider values={{ mode: current }} setValues={(values) => actions.setDraft({ mode: String(values.mode) })}>
        <MenuButton className={`${styles.option} ${styles.modeMenu}`}>
          <span>{title(current, choices.find((choice) => choice.name === current)?.title ?? current)}</span>
        </MenuButton>
        <PopMenu label={words.input.mode}>
          {choices.map((choice) => (
            <MenuItemRadio
              key={choice.name}
              className={menu.item}
              name="mode"
              value={choice.name}
              hideOnClick
              aria-label={title(choice.name, choice.title)}
              aria-describedby={`${id}-${choice.name}`}
            >
              <span>
                <bdi>{title(choice.name, choice.title)}</bdi>
                <span
                  id={`${id}-${choice.name}`}
                  className={styles.modeNote}
                  title={note(choice.name, choice.description)}
                >
                  {note(choice.name, choice.description)}
                </span>
              </span>
              <span aria-hidden="true">{choice.name === current ? "✓" : ""}</span>
            </MenuItemRadio>
          ))}
        </PopMenu>
      </MenuProvider>
    );
  }
  return (
    <fieldset className={styles.modes}>
      <legend className="unseen">{words.input.mode}</legend>
      {choices.map((choice) => (
        <label key={choice.name} className={styles.mode} title={note(choice.name, choice.description) || undefined}>
          <input
            type="radio"
            name="mode"
            className="unseen"
            checked={choice.name === current}
            onChange={() => actions.setDraft({ mode: choice.name })}
          />
          <span>{title(choice.name, choice.title)}</span>
        </label>
      ))}
    </fieldset>
  );
}

const STYLES = ["none", "docs", "table", "html", "ppt"] as const;
const OCCASIONS = ["risks", "plan", "results", "clarify"] as const;

/** The forms that the page offers; other clients know more. */
const toStyle = (value: unknown): Exclude<(typeof STYLES)[number], "none"> | null =>
  value === "docs" || value === "table" || value === "html" || value === "ppt" ? value : null;

/** The form of the answer, and the occasions on which the run asks. */
export function Options(): ReactNode {
  const words = useWords();
  const actions = useActions();
  const style = usePage((state) => toStyle(state.draft.outputStyle)) ?? "none";
  const human = usePage((state) => state.draft.human);
  const chosen = OCCASIONS.filter((occasion) => human[occasion]);
  const toChoice = (value: unknown): HumanChoice => {
    const list: readonly unknown[] = Array.isArray(value) ? value : [];
    return {
      risks: list.includes("risks"),
      plan: list.includes("plan"),
      results: list.includes("results"),
      clarify: list.includes("clarify"),
    };
  };
  return (
    <MenuProvider
      values={{ style, asks: [...chosen] }}
      setValues={(values) => actions.setDraft({ outputStyle: toStyle(values.style), human: toChoice(values.asks) })}
    >
      <MenuButton className={styles.option} title={words.input.more}>
        <span>
          {[
            style === "none" ? "" : words.input.styles[style],
            words.input.asksShort(chosen.map((occasion) => words.input.asks[occasion])),
          ]
            .filter(Boolean)
            .join(" · ")}
        </span>
      </MenuButton>
      <PopMenu label={words.input.more}>
        <MenuGroup>
          <MenuGroupLabel className={styles.group}>{words.input.asksMe}</MenuGroupLabel>
          {OCCASIONS.map((occasion) => (
            <MenuItemCheckbox key={occasion} className={menu.item} name="asks" value={occasion}>
              <span>{words.input.asks[occasion]}</span>
              <span aria-hidden="true">{human[occasion] ? "✓" : ""}</span>
            </MenuItemCheckbox>
          ))}
        </MenuGroup>
        <MenuGroup>
          <MenuGroupLabel className={styles.group}>{words.input.style}</MenuGroupLabel>
          {STYLES.map((name) => (
            <MenuItemRadio key={name} className={menu.item} name="style" value={name}>
              <span>{words.input.styles[name]}</span>
              <span aria-hidden="true">{name === style ? "✓" : ""}</span>
            </MenuItemRadio>
          ))}
        </MenuGroup>
      </PopMenu>
    </MenuProvider>
  );
}
