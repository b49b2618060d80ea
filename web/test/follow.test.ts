// The follower: each way in which a response can end, with a clock that the tests turn.

import { describe, expect, it } from "vitest";
import { offlineError, RequestError } from "../src/wire/error";
import type { FollowerSink, Following, Surroundings } from "../src/wire/follow";
import { Follower } from "../src/wire/follow";
import type { Frame } from "../src/wire/sse";

class World implements Surroundings {
  time = 0;
  hidden = false;
  timers: { at: number; action: () => void }[] = [];
  now = () => this.time;
  random = () => 0.5;
  isHidden = () => this.hidden;
  after = (ms: number, action: () => void) => {
    const timer = { at: this.time + ms, action };
    this.timers.push(timer);
    return () => void (this.timers = this.timers.filter((other) => other !== timer));
  };

  async pass(ms: number): Promise<void> {
    this.time += ms;
    const due = this.timers.filter((timer) => timer.at <= this.time);
    this.timers = this.timers.filter((timer) => timer.at > this.time);
    for (const timer of due) timer.action();
    await settled();
  }
}

/** All promises that wait for nothing outside have continued. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
}

/** `until` ends a response that is open. */
type Reply = { frames?: string; error?: RequestError; type?: string; stays?: true; until?: Promise<void> };

const kept = (cursor: number, type: string) =>
  `id: run_1:${cursor}\nevent: ${type}\ndata: {"id":"e${cursor}","type":"${type}","at_ms":1}\n\n`;

class Story implements FollowerSink {
  readonly world = new World();
  readonly states: Following[] = [];
  readonly frames: Frame[] = [];
  readonly cursors: (string | null)[] = [];
  readonly aborted: boolean[] = [];
  readonly replies: Reply[];
  paused = false;
  readonly follower: Follower;

  constructor(...replies: Reply[]) {
    this.replies = replies;
    this.follower = new Follower((cursor, signal) => this.open(cursor, signal), this, this.world);
  }

  async open(cursor: string | null, signal: AbortSignal): Promise<Response> {
    const reply = this.replies[this.cursors.length] ?? { stays: true };
    const index = this.cursors.push(cursor) - 1;
    signal.addEventListener("abort", () => (this.aborted[index] = true));
    if (reply.error) throw reply.error;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(reply.frames ?? ""));
        if (reply.until) void reply.until.then(() => controller.close());
        else if (!reply.stays) controller.close();
        else signal.addEventListener("abort", () => controller.error(new Error("aborted")));
      },
    });
    return new Response(body, { headers: { "content-type": reply.type ?? "text/event-stream" } });
  }

  onOpen = () => undefined;
  onFrames = (frames: readonly Frame[]) => void this.frames.push(...frames);
  onState = (state: Following) => void this.states.push(state);
  isPaused = () => this.paused;
  hasEnded = () => this.frames.some(({ event }) => event.kind === "entry" && event.entry.type === "run.ended");

  get state(): Following["state"] | undefined {
    return this.states.at(-1)?.state;
  }
}

const retryable = (retryAfterS: number | null) =>
  new RequestError({ ...offlineError(""), code: "store_unavailable", status: 503, isRetryable: true, retryAfterS });
const final = new RequestError({ ...offlineError(""), code: "run_not_found", status: 404, isRetryable: false });

describe("a follower", () => {
  it("ends with the run", async () => {
    const story = new Story({ frames: kept(0, "run.started") + kept(1, "run.ended") });
    story.follower.start();
    await settled();
    expect(story.state).toBe("idle");
    await story.world.pass(100_000);
    expect(story.cursors).toEqual([null]);
  });

  it("continues at once, with the cursor, when a response ends before the run", async () => {
    const story = new Story({ frames: kept(0, "run.started") + kept(4, "plan.changed") }, { frames: kept(5, "run.ended") });
    story.follower.start();
    await settled();
    await story.world.pass(0);
    expect(story.cursors).toEqual([null, "run_1:4"]);
    expect(story.state).toBe("idle");
  });

  it("waits longer after each failure, from 0.5 s to 15 s", async () => {
    const offline = { error: new RequestError(offlineError("")) };
    const story = new Story(...Array.from({ length: 12 }, () => offline));
    story.follower.start();
    await settled();
    const delays: number[] = [];
    for (let turn = 0; turn < 10; turn += 1) {
      const next = story.world.timers.map((timer) => timer.at - story.world.time)[0] ?? -1;
      delays.push(next);
      expect(next).toBeGreaterThanOrEqual(500);
      expect(next).toBeLessThanOrEqual(15_000);
      await story.world.pass(next);
    }
    expect(delays.at(-1)).toBeGreaterThan(delays[0] ?? 0);
    expect(story.cursors.length).toBe(11);
  });

  it("waits as long as an error says", async () => {
    const story = new Story({ error: retryable(7) });
    story.follower.start();
    await settled();
    await story.world.pass(6_900);
    expect(story.cursors.length).toBe(1);
    await story.world.pass(1_000);
    expect(story.cursors.length).toBe(2);
  });

  it("stops at an error that a repeat does not change, and starts again when asked", async () => {
    const story = new Story({ error: final });
    story.follower.start();
    await settled();
    await story.world.pass(100_000);
    expect(story.state).toBe("failed");
    expect(story.cursors.length).toBe(1);
    story.follower.retry();
    await settled();
    expect(story.cursors.length).toBe(2);
  });

  it("asks a waiting run once soon, then every 30 s, at once after a response, and not while hidden", async () => {
    const paused = { frames: `retry: 10000\n\n${kept(4, "human.requested")}` };
    const story = new Story(...Array.from({ length: 9 }, () => paused));
    story.paused = true;
    story.follower.start();
    await settled();
    expect(story.state).toBe("waiting");
    // The last events of agents may follow the pause.
    await story.world.pass(2_000);
    expect(story.cursors.length).toBe(2);
    await story.world.pass(29_000);
    expect(story.cursors.length).toBe(2);
    await story.world.pass(1_000);
    expect(story.cursors.length).toBe(3);
    story.world.hidden = true;
    story.follower.onVisibility();
    await story.world.pass(30_000);
    await story.world.pass(60_000);
    expect(story.cursors.length).toBe(3);
    story.world.hidden = false;
    story.follower.onVisibility();
    await settled();
    expect(story.cursors.length).toBe(4);
    story.follower.wake();
    await settled();
    expect(story.cursors.length).toBe(5);
  });

  it("looks again soon after a response that the run has not read yet", async () => {
    const paused = { frames: `retry: 10000\n\n${kept(4, "human.requested")}` };
    const story = new Story(...Array.from({ length: 20 }, () => paused));
    story.paused = true;
    story.follower.start();
    await settled();
    story.follower.wake();
    await settled();
    expect(story.cursors.length).toBe(2);
    await story.world.pass(1_000);
    expect(story.cursors.length).toBe(3);
    // After some looks, the run is asked as seldom as before.
    for (let look = 4; look <= 8; look += 1) await story.world.pass(15_000);
    expect(story.cursors.length).toBe(8);
    await story.world.pass(29_000);
    expect(story.cursors.length).toBe(8);
  });

  it("looks again soon after a response during a connection that ends without news", async () => {
    let end = (): void => undefined;
    const until = new Promise<void>((resolve) => (end = resolve));
    const asked = { frames: `retry: 10000\n\n${kept(4, "human.requested")}`, until };
    const story = new Story(asked, { frames: kept(5, "run.ended") });
    story.paused = true;
    story.follower.start();
    await settled();
    story.follower.wake();
    end();
    await settled();
    expect(story.state).toBe("waiting");
    await story.world.pass(1_000);
    expect(story.state).toBe("idle");
  });

  it("reconnects at once if a response ends beside an open request, and then more slowly", async () => {
    const frames = kept(4, "human.requested");
    const story = new Story(...Array.from({ length: 9 }, () => ({ frames })));
    story.paused = true;
    story.follower.start();
    await settled();
    await story.world.pass(0);
    expect(story.cursors).toEqual([null, "run_1:4"]);
    await story.world.pass(499);
    expect(story.cursors.length).toBe(2);
    await story.world.pass(1_000);
    expect(story.cursors.length).toBe(3);
  });

  it("releases the stream of a tab that is hidden for a minute, and resumes by cursor", async () => {
    const story = new Story({ frames: kept(3, "run.started"), stays: true });
    story.follower.start();
    await settled();
    expect(story.state).toBe("live");
    story.world.hidden = true;
    story.follower.onVisibility();
    await story.world.pass(59_000);
    expect(story.aborted[0]).toBeUndefined();
    await story.world.pass(1_000);
    expect(story.aborted[0]).toBe(true);
    expect(story.state).toBe("released");
    await story.world.pass(600_000);
    expect(story.cursors.length).toBe(1);
    story.world.hidden = false;
    story.follower.onVisibility();
    await settled();
    expect(story.cursors).toEqual([null, "run_1:3"]);
  });

  it("asks nothing more after a minute while hidden, also of a server that is away", async () => {
    const offline = { error: new RequestError(offlineError("")) };
    const story = new Story({ frames: kept(3, "run.started") }, ...Array.from({ length: 200 }, () => offline));
    story.world.hidden = true;
    story.follower.start();
    await settled();
    for (let second = 0; second < 60; second += 1) await story.world.pass(1_000);
    expect(story.state).toBe("released");
    const count = story.cursors.length;
    expect(count).toBeGreaterThan(3);
    for (let second = 0; second < 600; second += 1) await story.world.pass(1_000);
    expect(story.cursors.length).toBe(count);
    // A tab that was shown meanwhile has a minute again.
    story.world.hidden = false;
    story.follower.onVisibility();
    await settled();
    expect(story.cursors.length).toBe(count + 1);
    story.world.hidden = true;
    story.follower.onVisibility();
    for (let second = 0; second < 59; second += 1) await story.world.pass(1_000);
    expect(story.state).not.toBe("released");
    await story.world.pass(1_000);
    expect(story.state).toBe("released");
  });

  it("keeps the stream of a tab that is shown again in time", async () => {
    const story = new Story({ frames: kept(3, "run.started"), stays: true });
    story.follower.start();
    await settled();
    story.world.hidden = true;
    story.follower.onVisibility();
    await story.world.pass(30_000);
    story.world.hidden = false;
    story.follower.onVisibility();
    await story.world.pass(60_000);
    expect(story.aborted[0]).toBeUndefined();
    expect(story.state).toBe("live");
  });

  it("reconnects once after a frame that is not JSON, and then shows an error", async () => {
    const broken = "id: run_1:9\nevent: plan.changed\ndata: {\"id\":\n\n";
    const story = new Story({ frames: kept(2, "run.started") + broken }, { frames: broken });
    story.follower.start();
    await settled();
    await story.world.pass(15_000);
    expect(story.cursors).toEqual([null, "run_1:2"]);
    expect(story.state).toBe("failed");
  });

  it("takes a page instead of a stream as no response", async () => {
    const story = new Story({ frames: "<html>", type: "text/html" });
    story.follower.start();
    await settled();
    expect(story.state).toBe("reconnecting");
  });

  it("does nothing after it was closed", async () => {
    const story = new Story({ frames: kept(3, "run.started"), stays: true });
    story.follower.start();
    await settled();
    const count = story.states.length;
    story.follower.close();
    await story.world.pass(600_000);
    expect(story.states.length).toBe(count);
    expect(story.cursors.length).toBe(1);
  });
});
