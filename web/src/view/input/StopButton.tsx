import { type MouseEvent, type ReactNode, useEffect, useState } from "react";
import { useWords } from "../../words";
import { useActions } from "../store";
import styles from "./input.module.css";

/** A click this soon after the button came or moved was meant for Send, which was at its place. */
const REST_MS = 500;

interface StopButtonProps {
  readonly isStopping: boolean;
  /** Send has the button's usual place. */
  readonly isBesideSend: boolean;
}

/** Rests at first: a button that moved is another one. */
export function StopButton({ isStopping, isBesideSend }: StopButtonProps): ReactNode {
  const words = useWords();
  const actions = useActions();
  const [isArmed, setIsArmed] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsArmed(true), REST_MS);
    return () => clearTimeout(timer);
  }, []);
  const stop = (event: MouseEvent): void => {
    // The later clicks of a double click have a count above 1; the keyboard's have 0.
    if (event.detail <= 1 && isArmed) actions.stop();
  };
  return (
    <button
      type="button"
      className={isBesideSend ? `${styles.stop} ${styles.beside}` : styles.stop}
      disabled={isStopping}
      aria-disabled={!isArmed}
      aria-label={isStopping ? words.input.stopping : words.input.stop}
      title={words.input.stop}
      onClick={stop}
    />
  );
}
