import { type ReactNode, useEffect, useState } from "react";
import { useWords } from "../../words";
import { useActions } from "../store";
import styles from "./input.module.css";

/** Takes files that are dropped anywhere on the page. */
export function DropZone(): ReactNode {
  const words = useWords();
  const actions = useActions();
  const [isOver, setIsOver] = useState(false);
  useEffect(() => {
    let depth = 0;
    const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
    const onEnter = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      depth += 1;
      setIsOver(true);
    };
    const onLeave = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      depth = Math.max(0, depth - 1);
      if (depth === 0) setIsOver(false);
    };
    const onOver = (event: DragEvent): void => {
      if (hasFiles(event)) event.preventDefault();
    };
    const onDrop = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      depth = 0;
      setIsOver(false);
      actions.addFiles([...(event.dataTransfer?.files ?? [])]);
    };
    addEventListener("dragenter", onEnter);
    addEventListener("dragleave", onLeave);
    addEventListener("dragover", onOver);
    addEventListener("drop", onDrop);
    return () => {
      removeEventListener("dragenter", onEnter);
      removeEventListener("dragleave", onLeave);
      removeEventListener("dragover", onOver);
      removeEventListener("drop", onDrop);
    };
  }, [actions]);
  return isOver ? <div className={styles.drop}>{words.input.drop}</div> : null;
}
