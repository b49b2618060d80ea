// Facts about open requests that no event has: the schemas of calls, and what follows from a timeout.

import type { Routes } from "../wire/routes";
import type { RequestFacts, RequestState, Run } from "./types";

type Facts = ReadonlyMap<string, RequestFacts>;

/** Reads the facts of open requests, unless all are in `known`, which gets their ids. */
export async function readFacts(routes: Routes, run: Run, known: Set<string>): Promise<Facts> {
  const hasFacts = ({ request, isOpen }: RequestState): boolean =>
    isOpen && ("arguments" in request || (request.expires_at_ms ?? null) !== null);
  const unknown = [...run.requests.values()].filter((state) => hasFacts(state) && !known.has(state.request.id));
  if (unknown.length === 0) return new Map();
  for (const { request } of unknown) known.add(request.id);
  const { requests } = await routes.requests(run.id);
  return new Map(requests.map(({ id, schema, on_timeout }) => [id, { schema, on_timeout: on_timeout ?? null }]));
}

/** Returns the run with facts about its requests. */
export function addFacts(run: Run, facts: Facts): Run {
  const requests = [...run.requests].map(([id, state]): [string, RequestState] => [
    id,
    { ...state, request: { ...state.request, ...facts.get(id) } },
  ]);
  return { ...run, requests: new Map(requests) };
}
