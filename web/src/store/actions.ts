// The actions that views call.

import type { NeededKey, ShareRequest, StepRequest } from "../wire/contract";
import type { ErrorInfo } from "../wire/error";
import type { Draft, Loadable } from "./types";

export type Decision =
  | { readonly kind: "confirm" }
  | { readonly kind: "skip" }
  | { readonly kind: "stop" }
  /** All parameters, not only the changed ones. */
  | { readonly kind: "modify"; readonly parameters: Record<string, unknown> }
  | { readonly kind: "say"; readonly text: string };

/** Everything a view can do. Errors arrive in the state, never as exceptions. */
export interface Actions {
  // Navigation.
  /** Opens a conversation; null for a new one. */
  open(session: string | null): void;
  loadMoreConversations(): void;
  search(text: string): void;
  rename(session: string, title: string): void;
  remove(session: string): void;
  loadOlderTurns(): void;
  /** Loads the details of an older answer. */
  loadDetail(run: string): void;
  retry(): void;

  // The input box.
  setDraft(change: Partial<Omit<Draft, "uploads">>): void;
  addFiles(files: readonly File[]): void;
  removeUpload(id: string): void;
  retryUpload(id: string): void;
  /** Asks the draft's question, or sends it as a message if a run is active. */
  send(): void;
  resend(turnKey: string): void;
  /** Stops the run that keeps a question from being asked, and asks the question again. */
  stopOther(turnKey: string): void;
  /** Removes an unsent question and puts its text back into the box. */
  takeBack(turnKey: string): void;
  /** Asks a question that is not in the box, with the mode and the occasions of the box, and without its files. */
  ask(question: string): void;

  // The active run.
  stop(): void;
  /** Sends `continue` after an interruption or a used-up budget. */
  continueRun(): void;
  respond(request: string, decision: Decision, comment?: string): void;
  /** Stores a key of the reader for tools, then repeats the call that waits for it. No state keeps the value. */
  setKey(request: string, key: NeededKey, value: string): void;
  /** Responds to all open requests of a group with `confirm` or `skip`. */
  respondGroup(group: string, decision: Decision): void;
  /** Returns the version of the newest run's plan; null if it cannot be read. */
  readPlanVersion(): Promise<number | null>;
  /** Replaces the steps that have not begun. `version` is the version that was edited; null for the newest one. */
  changePlan(steps: readonly StepRequest[], version: number | null): void;
  closePlanEdit(): void;
  /** Reads the budget of the newest run again. */
  refreshBudget(): void;
  retryMessage(id: string): void;

  // Sharing and audit.
  /** Returns the error of a share that was not created. */
  share(request: ShareRequest): Promise<ErrorInfo | null>;
  endShare(handle: string): Promise<ErrorInfo | null>;
  loadAudit(run: string): Promise<Loadable<readonly AuditLine[]>>;

  // Signing in.
  signInWithKey(key: string, isRemembered: boolean): void;
  /** Leaves the page for the issuer's, which leads back. */
  signInAtIssuer(): void;
  signOut(): void;

  dismissNotice(id: string): void;
}

export interface AuditLine {
  readonly [field: string]: unknown;
}
