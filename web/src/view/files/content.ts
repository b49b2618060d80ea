/** Reads files for display, up to a limit. */

import { useEffect, useMemo, useState } from "react";

type Loading = { readonly state: "loading" } | { readonly state: "failed" };

interface Ready {
  readonly state: "ready";
  /** The file has more bytes than the limit. */
  readonly isCut: boolean;
  /** The file goes on after the last line that was wanted. */
  readonly hasMore: boolean;
}

export type Bytes = Loading | (Ready & { readonly bytes: Uint8Array<ArrayBuffer> });
export type Content = Loading | (Ready & { readonly text: string });

/**
 * Reads a file up to `limit` bytes or `lines` lines. `isCut` is true if the file has more than `limit` bytes. Line breaks
 * in quoted cells of a CSV file end no line.
 */
export async function readBytes(url: string, limit: number, signal: AbortSignal, lines = Infinity): Promise<Bytes> {
  const response = await fetch(url, { credentials: "omit", referrerPolicy: "no-referrer", signal });
  if (!response.ok || !response.body) throw new Error(`status ${response.status}`);
  const reader = response.body.getReader();
  const pieces: BlobPart[] = [];
  let length = 0;
  let isCut = false;
  const ends = new RowEnds();
  let hasMore = false;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    hasMore = ends.count > lines;
    if (!hasMore) {
      pieces.push(value.slice(0, limit - length));
      length += value.length;
      isCut = length > limit;
      if (lines < Infinity) ends.read(value);
    }
    if (isCut || hasMore) {
      await reader.cancel();
      break;
    }
  }
  return { state: "ready", bytes: new Uint8Array(await new Blob(pieces).arrayBuffer()), isCut, hasMore };
}

const QUOTE = 0x22;
const LINE_BREAK = 0x0a;
const CLOSED = -1;
/** A cell begins after a separator, a line break or a byte order mark; only there, a quote has a meaning. */
const BEFORE_CELLS: ReadonlySet<number> = new Set([LINE_BREAK, 0x2c, 0x3b, 0x09, 0x7c, 0xbf]);

/** Counts the ends of the rows of a CSV file that is read in pieces. */
class RowEnds {
  count = 0;
  #isQuoted = false;
  /** The byte before; `CLOSED` after the quote that ends a cell, unless another quote follows. */
  #before = LINE_BREAK;

  read(bytes: Uint8Array): void {
    for (const byte of bytes) {
      if (this.#isQuoted) {
        if (byte !== QUOTE) continue;
        this.#isQuoted = false;
        this.#before = CLOSED;
        continue;
      }
      if (byte === QUOTE && (this.#before === CLOSED || BEFORE_CELLS.has(this.#before))) this.#isQuoted = true;
      else if (byte === LINE_BREAK) this.count += 1;
      this.#before = byte;
    }
  }
}

/** Reads a file, up to `limit` bytes or some lines. */
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

/** Reads a file as text, up to `limit` bytes or some lines. */
export function useContent(url: string, limit: number, lines?: number): Content {
  const content = useBytes(url, limit, lines);
  return useMemo(
    () =>
      content.state === "ready" ? { ...content, text: decode(content.bytes, content.isCut || content.hasMore) } : content,
    [content],
  );
}

/** A text that may be cut ends before a character of which only a part was read. */
const decode = (bytes: Uint8Array, isCut: boolean): string => new TextDecoder().decode(bytes, { stream: isCut });
