// What a user does to the run at work: messages, responses, changes of the plan, a stop.

import type { HumanRequest, NeededKey, ResponseRequest, StepRequest } from "../wire/contract";
import type { components } from "../wire/generated/openapi";
import { type ErrorInfo, errorOf, RequestError } from "../wire/error";
import type { Routes } from "../wire/routes";
import type { Browser } from "./browser";
import { forgetEdits } from "./card_edits";
import type { OpenConversation } from "./open_conversation";
import type { Decision, Run } from "./types";

/** Resumes an interrupted run. */
export async function continueRun(routes: Routes, open: OpenConversation, id: string): Promise<void> {
  const run = open.activeRun;
  if (run === null) return;
  await routes.message(run, "continue", id);
  open.wake();
}

/** Responds to a request, or with a group's id to all requests of the group. */
export async function respond(
  routes: Routes,
  open: OpenConversation,
  request: string,
  decision: Decision,
  comment: string | undefined,
): Promise<void> {
  const run = open.conversation.turns.at(-1);
  if (!run || run.run === null) return;
  const progress = (error: ErrorInfo | null) =>
    open.update(({ sendingResponses }) => ({ sendingResponses: new Map(sendingResponses).set(request, { error }) }));
  progress(null);
  const body: { -readonly [Field in keyof ResponseRequest]: ResponseRequest[Field] } = {
    response: decision.kind === "say" ? decision.text : decision.kind,
  };
  if (decision.kind === "modify") body.parameters = decision.parameters;
  if (comment) body.comment = comment;
  const digest = run.detail?.requests.get(request)?.request.digest;
  if (digest !== undefined) body.digest = digest;
  try {
    await routes.respond(run.run, request, body);
    forgetEdits(run.run, request);
    open.wake();
  } catch (error) {
    progress(errorOf(error));
    // Somebody else may have responded: the events say who.
    open.wake();
  }
}

/** Stores a key of the reader, then repeats all calls of the newest run that wait for it. */
export async function setKey(
  routes: Routes,
  open: OpenConversation,
  request: string,
  key: NeededKey,
  value: string,
): Promise<void> {
  const show = (error: ErrorInfo | null): void =>
    open.update(({ sendingResponses }) => ({ sendingResponses: new Map(sendingResponses).set(request, { error }) }));
  show(null);
  try {
    await routes.setKey(key.name, { value, origin: key.origin });
  } catch (error) {
    return show(errorOf(error));
  }
  const requests = [...(open.conversation.turns.at(-1)?.detail?.requests.values() ?? [])];
  const waiting = requests.filter((state) => {
    const needed = neededKey(state.request);
    return state.isOpen && needed?.name === key.name && needed.origin === key.origin;
  });
  await Promise.all(waiting.map(({ request: { id } }) => respond(routes, open, id, { kind: "confirm" }, undefined)));
}

/** Returns the key that a call waits for; null for other requests. */
export const neededKey = (request: HumanRequest): NeededKey | null =>
  request.about === "call_interrupt" ? (request.interrupt.key ?? null) : null;

/** Stops the run at work, and all runs below. A guest stops only their own runs. */
export async function stop(routes: Routes, open: OpenConversation): Promise<void> {
  const run = open.activeRun;
  const { isOwner, isStopping, turns } = open.conversation;
  // A question on its way is stopped as soon as the server has it.
  if (run === null && turns.at(-1)?.status === "sending") return open.update({ isStopping: true });
  if (run === null || isStopping || !(isOwner || turns.at(-1)?.isOwn)) return;
  open.update({ isStopping: true });
  try {
    await routes.stop(run);
    open.wake();
  } catch (error) {
    open.update({ isStopping: false });
    throw error;
  }
}

/** The time between two looks at a run that is being stopped, in milliseconds. */
const STOP_PAUSE = 500;
/** After so many looks, the question is asked anyway. */
const MAX_STOP_LOOKS = 30;

/** Stops the run that an unsent question waits for, and asks the question again after the run's end. */
export async function stopOther(routes: Routes, browser: Browser, open: OpenConversation, key: string): Promise<void> {
  const isWanted = (): boolean =>
    !open.isClosed && open.conversation.turns.some((turn) => turn.key === key && turn.status === "unsent");
  const run = open.conversation.turns.find((turn) => turn.key === key)?.error?.run ?? null;
  if (run === null || open.conversation.isStopping) return;
  open.update({ isStopping: true });
  try {
    await routes.stop(run);
    for (let look = 0; look < MAX_STOP_LOOKS && isWanted(); look += 1) {
      if ((await routes.run(run)).ended_at_ms != null) break;
      await new Promise<void>((resolve) => void browser.after(STOP_PAUSE, resolve));
    }
  } finally {
    if (isWanted()) open.update({ isStopping: false });
  }
  if (isWanted()) open.resend(key);
}

type Conflict = components["schemas"]["PlanConflictBody"];

/** Replaces the steps that have not begun. A plan that somebody else changed is shown, not overwritten. */
export async function changePlan(
  routes: Routes,
  open: OpenConversation,
  steps: readonly StepRequest[],
  version: number | null,
): Promise<void> {
  const run = open.activeRun;
  if (run === null) return;
  open.update({ planEdit: { state: "saving" } });
  try {
    const known = version ?? (await readPlanVersion(routes, open)) ?? 0;
    await routes.changePlan(run, { version: known, steps: [...steps] });
    open.update({ planEdit: { state: "saved" } });
    open.wake();
  } catch (error) {
    const conflict = error instanceof RequestError && error.info.code === "plan_changed" ? error.body : null;
    if (conflict) {
      const { version, plan } = conflict as Conflict;
      open.update({ planEdit: { state: "conflict", version, plan: plan as never } });
    } else open.update({ planEdit: { state: "failed", error: errorOf(error) } });
  }
}

/** Returns the version of the newest run's plan; null without a run at work. */
export async function readPlanVersion(routes: Routes, open: OpenConversation): Promise<number | null> {
  if (open.activeRun === null) return null;
  const body = await routes.run(open.activeRun);
  return "plan_version" in body ? (body.plan_version ?? null) : null;
}

/** True if a user has just extended the budget. */
export const isExtended = (before: Run, run: Run): boolean =>
  run.requests !== before.requests &&
  [...run.requests.values()].some(
    ({ request, isOpen }) => request.about === "budget_extension" && !isOpen && before.requests.get(request.id)?.isOpen,
  );
