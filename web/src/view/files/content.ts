/** Reads files for display, up to a limit. */

import { useEffect, useState } from "react";

export type Content =
  | { readonly state: "loading" }
  | { readonly state: "failed" }
  | { readonly state: "ready"; readonly text: string; readonly isCut: boolean };

/** Reads at most `limit` bytes of a file as text. */
async function readText(url: string, limit: number, signal: AbortSignal): Promise<{ text: string; isCut: boolean }> {
  const response = await fetch(url, { credentials: "omit", referrerPolicy: "no-referrer", signal });
  if (!response.ok || !response.body) throw new Error(`status ${response.status}`);
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const pieces: string[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { text: pieces.join("") + decoder.decode(), isCut: false };
    const rest = limit - bytes;
    bytes += value.length;
    pieces.push(decoder.decode(value.subarray(0, rest), { stream: true }));
    if (bytes > limit) {
      await reader.cancel();
      return { text: pieces.join(""), isCut: true };
    }
  }
}

export function useContent(url: string, limit: number): Content {
  const [content, setContent] = useState<Content>({ state: "loading" });
  useEffect(() => {
    const stop = new AbortController();
    setContent({ state: "loading" });
    readText(url, limit, stop.signal).then(
      (found) => setContent({ state: "ready", ...found }),
      () => stop.signal.aborted || setContent({ state: "failed" }),
    );
    return () => stop.abort();
  }, [url, limit]);
  return content;
}
