/** Reads files for display, up to a limit. */

import { useEffect, useMemo, useState } from "react";

type Loading = { readonly state: "loading" } | { readonly state: "failed" };

export type Bytes =
  Loading | { readonly state: "ready"; readonly bytes: Uint8Array<ArrayBuffer>; readonly isCut: boolean };
export type Content = Loading | { readonly state: "ready"; readonly text: string; readonly isCut: boolean };

/** Reads at most `limit` bytes of a file. */
async function readBytes(url: string, limit: number, signal: AbortSignal): Promise<Bytes> {
  const response = await fetch(url, { credentials: "omit", referrerPolicy: "no-referrer", signal });
  if (!response.ok || !response.body) throw new Error(`status ${response.status}`);
  const reader = response.body.getReader();
  const pieces: BlobPart[] = [];
  let length = 0;
  let isCut = false;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces.push(value.slice(0, limit - length));
    length += value.length;
    isCut = length > limit;
    if (isCut) {
      await reader.cancel();
      break;
    }
  }
  return { state: "ready", bytes: new Uint8Array(await new Blob(pieces).arrayBuffer()), isCut };
}

/** Reads a file, up to `limit` bytes. */
export function useBytes(url: string, limit: number): Bytes {
  const [content, setContent] = useState<Bytes>({ state: "loading" });
  useEffect(() => {
    const stop = new AbortController();
    setContent({ state: "loading" });
    readBytes(url, limit, stop.signal).then(setContent, () => stop.signal.aborted || setContent({ state: "failed" }));
    return () => stop.abort();
  }, [url, limit]);
  return content;
}

/** Reads a file as text, up to `limit` bytes. */
export function useContent(url: string, limit: number): Content {
  const content = useBytes(url, limit);
  return useMemo(
    () => (content.state === "ready" ? { ...content, text: decode(content.bytes, content.isCut) } : content),
    [content],
  );
}

/** A cut text ends before a character of which only a part was read. */
const decode = (bytes: Uint8Array, isCut: boolean): string => new TextDecoder().decode(bytes, { stream: isCut });
