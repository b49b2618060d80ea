// Streams of real runs of the demo model, as the server sent them.

import { readFileSync } from "node:fs";
import type { Frame } from "../src/wire/sse";
import { readFrames } from "../src/wire/sse";

export const STREAMS = ["answer", "approval", "plan", "search", "stopped"] as const;

/** Reads a stream in chunks of `size` bytes. */
export async function readStream(name: string, size = 1_000): Promise<Frame[]> {
  const bytes = readFileSync(new URL(`streams/${name}.txt`, import.meta.url));
  return framesOf(bytes, size);
}

export async function framesOf(bytes: Uint8Array, size: number): Promise<Frame[]> {
  const frames: Frame[] = [];
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let start = 0; start < bytes.length; start += size) controller.enqueue(bytes.slice(start, start + size));
      controller.close();
    },
  });
  await readFrames(body, { onFrames: (more) => frames.push(...more), onRetry: () => undefined });
  return frames;
}
