import { Menu } from "@ariakit/react";
import type { ReactNode } from "react";
import styles from "./menu.module.css";

/** A menu above everything else; it stays inside the dialog or the landmark that it belongs to. */
export function PopMenu({ children, label }: { children: ReactNode; label?: string }): ReactNode {
  return (
    <Menu
      className={styles.menu}
      gutter={5}
      fixed
      portal
      preserveTabOrder={false}
      portalElement={layerOf}
      unmountOnHide
      {...(label === undefined ? {} : { "aria-label": label })}
    >
      {children}
    </Menu>
  );
}

function layerOf(element: HTMLElement): HTMLElement | null {
  return element.closest<HTMLElement>("[role=dialog]") ?? document.getElementById("layers");
}
