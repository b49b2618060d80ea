/** Reads files for display, up to a limit. */

import { useEffect, useMemo, useState } from "react";

type Loading = { readonly state: "loading" } | { readonly state: "failed" };

export type Bytes =
  Loading | { readonly state: "ready"; readonly bytes: Uint8Array<ArrayBuffer>; readonly isCut: boolean };
export type Content = Loading | { readonly state: "ready"; readonly text: string; readonly isCut: boolean };

/**
 * Reads at most `limit` bytes of a file, and nothing after so many lines. `isCut` is true if the file has more bytes than
 * the limit.
 */
export async function readBytes(url: string, limit: number, signal: AbortSignal, lines = Infinity): Promise<Bytes> {
  const response = await fetch(url, { credentials: "omit", referrerPolicy: "no-referrer", signal });
  if (!response.ok || !response.body) throw new Error(`status ${response.status}`);
  const reader = response.body.getReader();
  const pieces: BlobPart[] = [];
  let length = 0;
  let isCut = false;
  let ends = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces.push(value.slice(0, limit - length));
    length += value.length;
    isCut = length > limit;
    if (lines < Infinity) ends += countLines(value);
    if (isCut || ends > lines) {
      await reader.cancel();
      break;
    }
  }
  return { state: "ready", bytes: new Uint8Array(await new Blob(pieces).arrayBuffer()), isCut };
}

function countLines(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) count += 1;
  return count;
}

/** Reads a file, up to `limit` bytes and some lines. */
export function useBytes(url: string, limit: number, lines?: number): Bytes {
  const [content, setContent] = useState<Bytes>({ state: "loading" });
  useEffect(() => {
    const stop = new AbortController();
    setContent({ state: "loading" });
    readBytes(url, limit, stop.signal, lines).then(setContent, () => stop.signal.aborted || setContent({ state: "failed" }));
    return () => stop.abort();
  }, [url, limit, lines]);
  return content;
}

/** Reads a file as text, up to `limit` bytes and some lines. */
export function useContent(url: string, limit: number, lines?: number): Content {
  const content = useBytes(url, limit, lines);
  return useMemo(
    () => (content.state === "ready" ? { ...content, text: decode(content.bytes, content.isCut || lines !== undefined) } : content),
    [content, lines],
  );
}

/** A text that may be cut ends before a character of which only a part was read. */
const decode = (bytes: Uint8Array, isCut: boolean): string => new TextDecoder().decode(bytes, { stream: isCut });
