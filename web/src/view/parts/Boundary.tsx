import { Component, type ReactNode } from "react";
import { useWords } from "../../words";
import styles from "./parts.module.css";

/** Shows a sentence in place of a part that could not be loaded, such as a part of an older page, or not be shown. */
export class Boundary extends Component<{ readonly children: ReactNode }, { readonly hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError(): { readonly hasFailed: boolean } {
    return { hasFailed: true };
  }

  override render(): ReactNode {
    return this.state.hasFailed ? <Failed /> : this.props.children;
  }
}

function Failed(): ReactNode {
  const words = useWords();
  return (
    <div className={styles.error} role="alert">
      <div>{words.errors.part}</div>
      <div className={styles.errorActs}>
        <button type="button" className={styles.button} onClick={() => location.reload()}>
          {words.page.reload}
        </button>
      </div>
    </div>
  );
}
