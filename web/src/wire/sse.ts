// Server-sent events of a response.

import { createParser } from "eventsource-parser";
import type { HandedOver, Entry, Preview, Progress, StreamEvent } from "./contract";

/** An event of a stream with its position. */
export interface Frame {
  readonly event: StreamEvent;
  /** The `id:` of the event. */
  readonly cursor: string | null;
}

/** The data of an event is not JSON. */
export class BrokenFrame extends Error {}

/** Receives the frames of a response, chunk by chunk. */
export interface FrameSink {
  onFrames(frames: readonly Frame[]): void;
  /** `retry:` in milliseconds. */
  onRetry(ms: number): void;
}

/**
 * Reads a response to its end.
 *
 * Throws {@link BrokenFrame} for data that is not JSON, after all frames before it were delivered.
 */
export async function readFrames(body: ReadableStream<Uint8Array>, sink: FrameSink): Promise<void> {
  let frames: Frame[] = [];
  let isBroken = false;
  let cursor: string | null = null;
  const parser = createParser({
    onEvent(message) {
      if (isBroken) return;
      cursor = message.id ?? cursor;
      const event = parseEvent(message.event ?? "message", message.data);
      if (event === "broken") isBroken = true;
      else if (event !== "unknown") frames.push({ event, cursor });
    },
    onRetry: (ms) => sink.onRetry(ms),
  });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      if (frames.length > 0) sink.onFrames(frames);
      frames = [];
      if (isBroken) throw new BrokenFrame();
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

/** The names of the entries; a missing or additional name is an error of types. */
const ENTRY_TYPES: Readonly<Record<Entry["type"], true>> = {
  "run.started": true,
  "run.resumed": true,
  "message.reset": true,
  "model.changed": true,
  "model.delayed": true,
  "agent.changed": true,
  "message.completed": true,
  "call.requested": true,
  "call.completed": true,
  "file.added": true,
  "context.compacted": true,
  "employees.named": true,
  "plan.changed": true,
  "step.changed": true,
  "child.started": true,
  "child.ended": true,
  "review.completed": true,
  "user_message.added": true,
  "human.requested": true,
  "human.resolved": true,
  "verdict.given": true,
  "run.ended": true,
};

/** Parses an event. Unknown names are skipped, as the protocol requires. */
export function parseEvent(name: string, text: string): StreamEvent | "unknown" | "broken" {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    return "broken";
  }
  if (typeof data !== "object" || data === null) return "broken";
  // The shape of the data is the server's contract, which its own tests hold.
  if (name === "preview") return { kind: "preview", preview: data as Preview };
  if (name === "progress") return { kind: "progress", progress: data as Progress };
  if (name === "run.handed_over") return { kind: "handed_over", handedOver: data as HandedOver };
  if (Object.hasOwn(ENTRY_TYPES, name) && "id" in data) return { kind: "entry", entry: data as Entry };
  return "unknown";
}
