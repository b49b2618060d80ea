import { type ReactNode, useEffect, useRef, useState } from "react";
import styles from "./markdown.module.css";

/** The longest formula that is rendered, in UTF-16 units. */
const LONGEST = 4_000;

/** A formula as MathML. The text itself is shown until KaTeX has loaded, and for a formula with an error. */
export function Maths({ tex, raw, isBlock }: { tex: string; raw: string; isBlock: boolean }): ReactNode {
  const place = useRef<HTMLSpanElement>(null);
  const [isRendered, setIsRendered] = useState(false);
  useEffect(() => {
    let isCurrent = true;
    if (tex.length > LONGEST) return;
    void import("./katex").then(
      ({ renderFormula }) => {
        if (isCurrent && place.current) setIsRendered(renderFormula(tex, isBlock, place.current));
      },
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, [tex, isBlock]);
  return (
    <span className={isBlock ? styles.formula : undefined}>
      <span ref={place} hidden={!isRendered} />
      {isRendered ? null : <code className={styles.codespan}>{raw.trim()}</code>}
    </span>
  );
}
