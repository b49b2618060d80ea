/** The kinds of requests, and what each changes. */

import { neededKey } from "../../store/run_actions";
import type { HumanRequest } from "../../store/types";
import type { Words } from "../../words";
import { isObject, type JsonObject } from "./schema";

export type RequestKind =
  "write" | "call" | "plan" | "ask" | "key" | "call_interrupt" | "model_interrupt" | "step" | "result" | "budget";

export function kindOf(request: HumanRequest): RequestKind {
  switch (request.about) {
    case "call":
      if (request.tool === "ask_user") return "ask";
      if (request.tool === "planning") return planSteps(request.arguments) ? "plan" : "call";
      return request.tool === "file_tool" && isObject(request.arguments) && request.arguments.command === "upload"
        ? "write"
        : "call";
    case "call_interrupt":
      return neededKey(request) ? "key" : "call_interrupt";
    case "model_interrupt":
      return "model_interrupt";
    case "step_review":
      return "step";
    case "result_review":
      return "result";
    case "budget_extension":
      return "budget";
  }
}

/** Returns the steps of a plan's arguments, if each is a text. */
export function planSteps(parameters: unknown): readonly string[] | null {
  if (!isObject(parameters) || !Array.isArray(parameters.steps) || parameters.steps.length === 0) return null;
  return parameters.steps.every((step) => typeof step === "string") ? parameters.steps : null;
}

export function titleOf(request: HumanRequest, kind: RequestKind, who: string, words: Words): string {
  const { requests } = words;
  const tool = "tool" in request ? request.tool : "";
  const inner = who === requests.TheRun ? requests.theRun : who;
  switch (kind) {
    case "write":
      return requests.writeTitle(inner);
    case "call":
      return requests.callTitle(inner, tool);
    case "plan":
      return requests.planTitle;
    case "ask":
      return requests.askTitle(who);
    case "key":
      return requests.keyTitle(tool);
    case "call_interrupt":
      return requests.retryCall(tool);
    case "model_interrupt":
      return requests.retryModel;
    case "step":
      return requests.stepTitle;
    case "result":
      return requests.resultTitle;
    case "budget":
      return requests.budgetTitle;
  }
}

/** The parameters that a `modify` replaces; null for a request without any. */
export function parametersOf(request: HumanRequest): JsonObject | null {
  switch (request.about) {
    case "call":
    case "call_interrupt":
      return request.arguments;
    case "step_review":
      return { details: request.details };
    case "result_review":
      return { text: request.text };
    case "budget_extension":
      return { tokens: request.offer.tokens, micro_usd: request.offer.micro_usd };
    case "model_interrupt":
      return null;
  }
}

interface Labels {
  readonly confirm: string;
  readonly modify: string;
  readonly skip: string;
  /** Null where words are no response. */
  readonly say: string | null;
}

export function labelsOf(kind: RequestKind, words: Words): Labels {
  const { requests } = words;
  const call: Labels = {
    confirm: requests.allow,
    modify: requests.allowChanged,
    skip: requests.skip,
    say: requests.say,
  };
  switch (kind) {
    case "write":
    case "call":
      return call;
    case "plan":
      return { confirm: requests.startPlan, modify: requests.startChanged, skip: requests.newPlan, say: requests.say };
    case "step":
      return { confirm: requests.startPlan, modify: requests.startChanged, skip: requests.skip, say: requests.say };
    case "ask":
      return { ...call, skip: requests.continueWithout, say: null };
    case "key":
      return { confirm: requests.keySave, modify: requests.keySave, skip: requests.notRetry, say: requests.say };
    case "call_interrupt":
      return { confirm: requests.retry, modify: requests.retryChanged, skip: requests.notRetry, say: requests.say };
    case "model_interrupt":
      return { confirm: requests.retry, modify: requests.retry, skip: requests.finishNow, say: null };
    case "result":
      return {
        confirm: requests.accept,
        modify: requests.acceptChanged,
        skip: requests.skip,
        say: requests.repeatStep,
      };
    case "budget":
      return { confirm: requests.extend, modify: requests.extend, skip: requests.finishNow, say: null };
  }
}

/** Returns the arguments whose value the title tells. */
export const toldByTitle = (kind: RequestKind): readonly string[] => (kind === "write" ? WRITE_TELLS : TELLS_NOTHING);

const WRITE_TELLS: readonly string[] = ["command"];
const TELLS_NOTHING: readonly string[] = [];

export function schemaOf(request: HumanRequest): unknown {
  return "schema" in request ? request.schema : null;
}
