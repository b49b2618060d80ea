// Addresses: `#/` is a new conversation, `#/s/{session}` an existing one.

import type { Route } from "./types";

export function parseAddress(address: string): Route {
  const match = /^\/s\/([^/]+)$/.exec(address);
  const name = match?.[1];
  if (name === undefined) return { session: null };
  try {
    return { session: decodeURIComponent(name) };
  } catch {
    return { session: null };
  }
}

export function formatAddress(route: Route): string {
  return route.session === null ? "/" : `/s/${encodeURIComponent(route.session)}`;
}
