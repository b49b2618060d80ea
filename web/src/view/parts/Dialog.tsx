import { Dialog as Base, DialogHeading } from "@ariakit/react";
import type { ReactNode } from "react";
import { useBackCloses } from "./back";
import styles from "./parts.module.css";

type Size = "small" | "wide" | "full" | "side" | "left";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly size?: Size;
  readonly isTitleHidden?: boolean;
}

const SIZES: Readonly<Record<Size, string>> = {
  small: "",
  wide: styles.wide ?? "",
  full: styles.full ?? "",
  side: styles.side ?? "",
  left: styles.left ?? "",
};

/** A modal dialog; it is open while it is rendered. Back closes one that covers the page. */
export function Dialog({ title, onClose, children, size = "small", isTitleHidden = false }: DialogProps): ReactNode {
  useBackCloses(size === "full" || size === "side", onClose);
  return (
    <Base
      open
      onClose={onClose}
      className={`${styles.dialog} ${SIZES[size]}`}
      backdrop={<div className={styles.veil} />}
      {...(isTitleHidden ? { "aria-label": title } : {})}
    >
      {isTitleHidden ? null : <DialogHeading className={styles.dialogTitle}>{title}</DialogHeading>}
      {children}
    </Base>
  );
}
