import { Component, type ReactNode } from "react";
import { useWords } from "../../words";
import styles from "./parts.module.css";

interface BoundaryProps {
  readonly children: ReactNode;
  /** True for dialogs, which have no place of their own: the sentence is shown above the page. */
  readonly isAbove?: boolean;
}

/** Shows a sentence in place of a part that could not be loaded, such as a part of an older page, or not be shown. */
export class Boundary extends Component<BoundaryProps, { readonly hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError(): { readonly hasFailed: boolean } {
    return { hasFailed: true };
  }

  override render(): ReactNode {
    return this.state.hasFailed ? <Failed isAbove={this.props.isAbove ?? false} /> : this.props.children;
  }
}

function Failed({ isAbove }: { readonly isAbove: boolean }): ReactNode {
  const words = useWords();
  return (
    <div className={isAbove ? `${styles.error} ${styles.above}` : styles.error} role="alert">
      <div>{words.errors.part}</div>
      <div className={styles.errorActs}>
        <button type="button" className={styles.button} onClick={() => location.reload()}>
          {words.page.reload}
        </button>
      </div>
    </div>
  );
}
