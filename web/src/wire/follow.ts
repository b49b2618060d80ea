// Follows a run across all interruptions, as docs/events.md describes.

import type { ErrorInfo } from "./error";
import { errorOf, unreadableError } from "./error";
import type { Frame } from "./sse";
import { BrokenFrame, readFrames } from "./sse";

/** The state of a followed run's stream. */
export type Following =
  /** No active run. */
  | { readonly state: "idle" }
  | { readonly state: "connecting" }
  | { readonly state: "live" }
  /** The run only waits for users or a provider; asked again from time to time. */
  | { readonly state: "waiting" }
  | { readonly state: "reconnecting"; readonly atMs: number; readonly error: ErrorInfo | null }
  /** The tab is hidden, and its stream released. */
  | { readonly state: "released" }
  | { readonly state: "failed"; readonly error: ErrorInfo };

/** Opens the stream after a cursor. */
export type OpenStream = (cursor: string | null, signal: AbortSignal) => Promise<Response>;

/** The owner of a follower. */
export interface FollowerSink {
  onOpen(response: Response): void;
  onFrames(frames: readonly Frame[]): void;
  onState(state: Following): void;
  /** True if the run waits for users, by the frames so far. */
  isPaused(): boolean;
  /** True after `run.ended`. */
  hasEnded(): boolean;
}

/** Time and visibility; tests replace both. */
export interface Surroundings {
  now(): number;
  /** A number from 0 to 1. */
  random(): number;
  /** Returns a function that cancels the timer. */
  after(ms: number, action: () => void): () => void;
  isHidden(): boolean;
}

/** The first and the longest delay of a reconnect, in milliseconds. */
const MIN_DELAY = 500;
const MAX_DELAY = 15_000;
/** The pause between two looks at a run that waits for users. */
const PAUSED_POLL = 30_000;
/** The first of them comes sooner: the last events of agents may follow the pause of their run. */
const SETTLED_LOOK = 2_000;
/** The looks at a waiting run that follow a response soon: the run may take a moment to read it. */
const EAGER_LOOKS = 6;
/** A hidden tab releases its stream after this time. */
const HIDDEN_RELEASE = 60_000;

/** Follows one run until its end. */
export class Follower {
  readonly #open: OpenStream;
  readonly #sink: FollowerSink;
  readonly #world: Surroundings;
  #cursor: string | null;
  #controller: AbortController | null = null;
  #cancelTimer: () => void = () => undefined;
  /** Set while a release is planned. */
  #cancelRelease: (() => void) | null = null;
  /** Attempts since the last new frame. */
  #failures = 0;
  #brokenFrames = 0;
  /** The looks that are still due soon after a response without a new frame. */
  #eagerLooks = 0;
  /** The cursor of the last look soon after a pause. */
  #settledAt: string | null = null;
  #retryMs: number | null = null;
  #isClosed = false;
  #state: Following["state"] = "idle";

  constructor(open: OpenStream, sink: FollowerSink, world: Surroundings, cursor: string | null = null) {
    this.#open = open;
    this.#sink = sink;
    this.#world = world;
    this.#cursor = cursor;
  }

  start(): void {
    if (this.#isClosed || this.#controller) return;
    this.#cancelTimer();
    if (this.#world.isHidden()) this.onVisibility();
    this.#connect().catch((error: unknown) => this.#fail(errorOf(error)));
  }

  /** Ends the following, without effect on the run. */
  close(): void {
    this.#isClosed = true;
    this.#cancelTimer();
    this.#keepStream();
    this.#controller?.abort();
  }

  /** Reconnects at once: after a response to a request, a message, or the return of the network. */
  wake(): void {
    this.#eagerLooks = EAGER_LOOKS;
    if (!this.#controller && this.#state !== "released") this.start();
  }

  /** Starts over after a failure, for example with a new key. */
  retry(): void {
    this.#failures = 0;
    this.#brokenFrames = 0;
    this.start();
  }

  /** The tab was hidden or shown. */
  onVisibility(): void {
    if (this.#isClosed || this.#sink.hasEnded()) return this.#keepStream();
    if (this.#world.isHidden()) {
      // Each reconnect comes here, too: the minute counts from the first.
      this.#cancelRelease ??= this.#world.after(HIDDEN_RELEASE, () => this.#release());
      return;
    }
    this.#keepStream();
    if (this.#state === "released" || this.#state === "waiting") this.start();
  }

  #keepStream(): void {
    this.#cancelRelease?.();
    this.#cancelRelease = null;
  }

  #release(): void {
    this.#cancelRelease = null;
    if (this.#isClosed || this.#sink.hasEnded() || this.#state === "failed") return;
    this.#setState({ state: "released" });
    this.#cancelTimer();
    this.#controller?.abort();
    this.#controller = null;
  }

  #setState(state: Following): void {
    this.#state = state.state;
    this.#sink.onState(state);
  }

  #fail(error: ErrorInfo): void {
    if (!this.#isClosed) this.#setState({ state: "failed", error });
  }

  async #connect(): Promise<void> {
    const controller = new AbortController();
    this.#controller = controller;
    this.#setState({ state: "connecting" });
    let error: ErrorInfo | null = null;
    try {
      const response = await this.#open(this.#cursor, controller.signal);
      this.#sink.onOpen(response);
      if (!response.body || !response.headers.get("content-type")?.startsWith("text/event-stream")) {
        throw new BrokenFrame();
      }
      this.#retryMs = null;
      await readFrames(response.body, {
        onFrames: (frames) => {
          if (this.#controller !== controller) return;
          if (this.#state !== "live") this.#setState({ state: "live" });
          const cursor = frames.at(-1)?.cursor ?? this.#cursor;
          // A response may repeat the events of the cursor, and end again: only what is new counts.
          const hasPieces = frames.some(({ event }) => event.kind === "preview" || event.kind === "progress");
          if (cursor !== this.#cursor || hasPieces) {
            this.#failures = 0;
            this.#eagerLooks = 0;
          }
          this.#cursor = cursor;
          this.#sink.onFrames(frames);
        },
        onRetry: (ms) => (this.#retryMs = ms),
      });
    } catch (caught) {
      if (this.#controller !== controller || this.#isClosed) return;
      if (caught instanceof BrokenFrame) {
        this.#brokenFrames += 1;
        error = unreadableError(200);
        if (this.#brokenFrames > 1) {
          this.#controller = null;
          return this.#fail(error);
        }
      } else error = errorOf(caught);
    }
    if (this.#controller !== controller || this.#isClosed) return;
    this.#controller = null;
    this.#ended(error);
  }

  /** Decides on the next connection after the end of a response. */
  #ended(error: ErrorInfo | null): void {
    if (this.#sink.hasEnded()) return this.#setState({ state: "idle" });
    // A busy session is its user's to decide: to follow the other run, to stop it, or to wait.
    if (error && (!error.isRetryable || error.code === "session_busy")) return this.#fail(error);
    this.#failures += 1;
    // With `retry:` the run only waits. Without, another process goes on with the work beside an open request.
    if (!error && this.#retryMs !== null) {
      this.#setState({ state: "waiting" });
      if (!this.#sink.isPaused()) return this.#later(this.#retryMs);
      if (this.#eagerLooks === 0) {
        const isSettled = this.#settledAt === this.#cursor;
        this.#settledAt = this.#cursor;
        return this.#later(isSettled ? Math.max(this.#retryMs, PAUSED_POLL) : SETTLED_LOOK);
      }
      this.#failures = EAGER_LOOKS - this.#eagerLooks;
      this.#eagerLooks -= 1;
      return this.#later(this.#backoff(null));
    }
    // The first reconnect after frames is immediate: the text continues in the same second.
    const delay = !error && this.#failures === 1 ? 0 : this.#backoff(error);
    this.#setState({ state: "reconnecting", atMs: this.#world.now() + delay, error });
    this.#later(delay);
  }

  #backoff(error: ErrorInfo | null): number {
    if (error?.retryAfterS) return error.retryAfterS * 1000 + this.#world.random() * MIN_DELAY;
    const ceiling = Math.min(MAX_DELAY, MIN_DELAY * 2 ** this.#failures);
    return MIN_DELAY + this.#world.random() * (ceiling - MIN_DELAY);
  }

  #later(ms: number): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#world.after(ms, () => {
      // A hidden tab asks nothing; its return does.
      if (this.#world.isHidden() && this.#state === "waiting") return;
      this.start();
    });
  }
}
