// Sharing of the open conversation, and the audit of a run.

import type { ShareRequest } from "../wire/contract";
import { errorOf } from "../wire/error";
import type { Routes } from "../wire/routes";
import type { OpenConversation } from "./open_conversation";
import type { AuditLine, Loadable } from "./types";

export async function share(routes: Routes, open: OpenConversation, request: ShareRequest): Promise<void> {
  const added = await routes.share(open.session, request);
  open.update(({ shares }) => ({ shares: [...shares.filter((other) => other.handle !== added.handle), added] }));
}

export async function endShare(routes: Routes, open: OpenConversation, handle: string): Promise<void> {
  await routes.endShare(open.session, handle);
  open.update(({ shares }) => ({ shares: shares.filter((other) => other.handle !== handle) }));
}

export async function loadAudit(routes: Routes, run: string): Promise<Loadable<readonly AuditLine[]>> {
  try {
    return { state: "ready", value: (await routes.audit(run)) as readonly AuditLine[] };
  } catch (error) {
    return { state: "failed", error: errorOf(error) };
  }
}
