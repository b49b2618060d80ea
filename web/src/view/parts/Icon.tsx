import type { ReactNode } from "react";

const PATHS = {
  menu: "M3 5.5h14M3 10h14M3 14.5h14",
  plus: "M10 4v12M4 10h12",
  send: "M10 16V4.5M5 9l5-5 5 5",
  down: "M10 4v11.5M5 11l5 5 5-5",
  panel: "M3.5 4.5h13v11h-13zM12.5 4.5v11",
  close: "M5 5l10 10M15 5L5 15",
  more: "M4.5 10h.01M10 10h.01M15.5 10h.01",
  chevron: "M8 5l5 5-5 5",
  back: "M12 5l-5 5 5 5",
  up: "M10 15V5M6 9l4-4 4 4",
  lower: "M10 5v10M6 11l4 4 4-4",
} as const;

/** A sign of a button that has a name in words beside it or for screen readers. */
export function Icon({ name }: { name: keyof typeof PATHS }): ReactNode {
  return (
    <svg
      viewBox="0 0 20 20"
      width="18"
      height="18"
      aria-hidden="true"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === "more" ? 2.4 : 1.6}
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
