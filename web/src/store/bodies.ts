// Parts of bodies: what the server says about itself, and what a question asks of it.

import type { HumanSettings, RunRequest } from "../wire/contract";
import type { ConfigBody } from "../wire/routes";
import type { Draft, HumanChoice, PageConfig } from "./types";

export function configOf(body: ConfigBody): PageConfig {
  return {
    signIn: { kind: body.sign_in, issuer: body.issuer ?? null },
    language: body.language,
    isScriptedModel: body.has_demo_model,
    maxBodyBytes: body.max_body_bytes,
    version: body.version,
  };
}

/** Returns a question with its files and with the choices of the box. */
export function questionBody(question: string, draft: Draft, files: readonly string[]): RunRequest {
  const body: { -readonly [Field in keyof RunRequest]: RunRequest[Field] } = { question, mode: draft.mode };
  if (files.length > 0) body.attachments = files.map((name) => ({ uri: name }));
  if (draft.outputStyle) body.output_style = draft.outputStyle;
  const human = humanSettings(draft.human);
  if (human) body.human_requests = human;
  return body;
}

/** Null leaves everything to the deployment. */
function humanSettings(choice: HumanChoice): HumanSettings | null {
  if (!choice.risks && !choice.plan && !choice.results && !choice.clarify) return null;
  const settings: { -readonly [Field in keyof HumanSettings]: HumanSettings[Field] } = {
    enabled: choice.risks,
    clarify: choice.clarify,
    confirm_plan: choice.plan,
    on_timeout: "skip",
  };
  if (choice.results) settings.confirm_results = true;
  return settings;
}

/** Differences of clocks below this are the delay of a request. */
const CLOCK_TOLERANCE = 2_000;

/** Returns the milliseconds to add to this device's clock to get the server's. */
export function clockOffset(response: Response, nowMs: number, lastOffsetMs: number): number {
  const offset = Date.parse(response.headers.get("date") ?? "") - nowMs;
  if (!Number.isFinite(offset) || Math.abs(offset - lastOffsetMs) <= CLOCK_TOLERANCE) return lastOffsetMs;
  return Math.abs(offset) > CLOCK_TOLERANCE ? offset : 0;
}
