/** Leads to a request, wherever its card is. */

type Shower = (request: string) => void;

let shower: Shower | null = null;

/** The conversation offers to scroll to a row that is not in the document. */
export function setRequestShower(next: Shower | null): void {
  shower = next;
}

const cardOf = (request: string): HTMLElement | null =>
  document.querySelector(`[data-request="${CSS.escape(request)}"]`);

export function showRequest(request: string | null): void {
  if (request === null) return;
  const card = cardOf(request);
  if (card) focusCard(card);
  else shower?.(request);
}

/** Shows the card after the next one that has the focus. */
export function showNextRequest(open: readonly string[]): void {
  const current = document.activeElement?.closest<HTMLElement>("[data-request]")?.dataset.request;
  const at = current === undefined ? -1 : open.indexOf(current);
  showRequest(open[(at + 1) % Math.max(1, open.length)] ?? null);
}

export function focusCard(card: HTMLElement): void {
  card.scrollIntoView({ block: "nearest" });
  card.focus({ preventScroll: true });
}
