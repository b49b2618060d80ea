// Parts of bodies: what the server says about itself, and what a question asks of it.

import type { HumanSettings } from "../wire/contract";
import type { ConfigBody } from "../wire/routes";
import type { HumanChoice, PageConfig } from "./types";

export function configOf(body: ConfigBody): PageConfig {
  return {
    signIn: { kind: body.sign_in, issuer: body.issuer ?? null },
    language: body.language,
    isScriptedModel: body.has_demo_model,
    maxBodyBytes: body.max_body_bytes,
    version: body.version,
  };
}

/** Null leaves everything to the deployment. */
export function humanSettings(choice: HumanChoice): HumanSettings | null {
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
