import { type ReactNode, useEffect } from "react";
import { useWords } from "../../words";
import { Dialog } from "../parts/Dialog";
import { newestRun, openRequests, useActions, usePage } from "../store";
import { showNextRequest } from "./requestFocus";
import styles from "./shell.module.css";

/** The keys of the page. Letters alone have no meaning, so that they cannot be pressed by accident. */
export function usePageKeys({ onKeys, onPalette }: { onKeys: () => void; onPalette: () => void }): void {
  const actions = useActions();
  const run = usePage(newestRun);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const target = event.target instanceof HTMLElement ? event.target : null;
      const isTyping = target !== null && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
      const isControl = event.ctrlKey || event.metaKey;
      if (event.key === "?" && !isTyping && !isControl) onKeys();
      else if (event.key === "/" && !isTyping && !isControl) focusKey("box");
      else if (isControl && event.key.toLowerCase() === "k") onPalette();
      else if (isControl && event.shiftKey && event.key.toLowerCase() === "o") actions.open(null);
      else if (isControl && event.key === ".") actions.stop();
      else if (event.altKey && event.code === "KeyR") showNextRequest(openRequests(run));
      else if (event.altKey && event.code === "KeyP") togglePanel();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [actions, run, onKeys, onPalette]);
}

/** Moves the focus to a part of the page. */
export function focusKey(key: string): void {
  document.querySelector<HTMLElement>(`[data-key=${key}]`)?.focus();
}

/** Shows or hides the panel, if the conversation has one. */
export function togglePanel(): void {
  document.querySelector<HTMLElement>("[data-key=panel]")?.click();
}

export function KeysDialog({ onClose }: { onClose: () => void }): ReactNode {
  const words = useWords();
  const keys: readonly (readonly [string, string])[] = [
    [words.keys.send, "Enter"],
    [words.keys.newLine, "Shift Enter"],
    [words.keys.newQuestion, "Ctrl Shift O"],
    [words.keys.palette, "Ctrl K"],
    [words.keys.box, "/"],
    [words.keys.stop, "Ctrl ."],
    [words.keys.nextRequest, "Alt R"],
    [words.keys.panel, "Alt P"],
    [words.keys.moveStep, "Alt ↑ ↓"],
    [words.keys.close, "Esc"],
    [words.keys.show, "?"],
  ];
  return (
    <Dialog title={words.keys.title} onClose={onClose}>
      <dl className={styles.keys}>
        {keys.map(([name, key]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              {key.split(" ").map((part) => (
                <kbd key={part}>{part}</kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
