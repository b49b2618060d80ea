// The events of an ended run, read when its details are asked for.

import { errorOf, offlineError, RequestError } from "../wire/error";
import type { Routes } from "../wire/routes";
import { readFrames } from "../wire/sse";
import { emptyRun } from "./empty_run";
import { foldEvents } from "./fold";
import type { OpenConversation } from "./open_conversation";

/** Reads the events of an ended run. */
export async function loadDetail(routes: Routes, open: OpenConversation, id: string): Promise<void> {
  const turn = open.conversation.turns.find((turn) => turn.run === id);
  if (!turn || turn.detail || turn.isLoadingDetail) return;
  open.setTurn(id, { isLoadingDetail: true, detailError: null });
  let run = emptyRun(id);
  try {
    const response = await routes.follow(id, null, new AbortController().signal);
    if (!response.body) throw new RequestError(offlineError("no body"));
    await readFrames(response.body, {
      onFrames: (frames) => (run = foldEvents(run, frames.map((frame) => frame.event))),
      onRetry: () => undefined,
    });
    open.setTurn(id, { detail: run, isLoadingDetail: false });
  } catch (error) {
    open.setTurn(id, { isLoadingDetail: false, detailError: errorOf(error) });
  }
}
