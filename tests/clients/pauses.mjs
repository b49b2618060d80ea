// Clients whose runs wait for their users send nothing: a minute passes on the clocks of all clients in Node.js.

import assert from "node:assert/strict";
import { Between } from "../../web/stories/between.mjs";

const NOTE = { tool: "file_tool", arguments: { command: "upload", filename: "wait.md", content: "9" } };

/** The timers that clients have set. */
class Timers {
  #waiting = new Map();
  #originals = {};

  constructor() {
    for (const name of ["setTimeout", "setInterval"]) {
      const original = (this.#originals[name] = globalThis[name]);
      globalThis[name] = (run, delay = 0, ...args) => {
        const timer = original(() => (this.#waiting.delete(timer), run(...args)), delay);
        this.#waiting.set(timer, { delay, run: () => run(...args) });
        return timer;
      };
    }
    for (const name of ["clearTimeout", "clearInterval"]) {
      const original = (this.#originals[name] = globalThis[name]);
      globalThis[name] = (timer) => (this.#waiting.delete(timer), original(timer));
    }
  }

  /** Runs the timers of a minute at once. */
  passMinute() {
    for (const [timer, { delay, run }] of this.#waiting) {
      if (delay > 60_000) continue;
      clearTimeout(timer);
      run();
    }
  }

  reset() {
    Object.assign(globalThis, this.#originals);
  }
}

/** `clients` are names with functions that open a conversation. */
export async function pauseForAMinute({ clients, system, model }) {
  const server = await Between.start(system);
  const timers = new Timers();
  try {
    const conversations = clients.map(([name, open]) => [name, open(server.url)]);
    const tell = (work) => Promise.all(conversations.map(work));
    await tell(async ([name, conversation]) => {
      model.on(`Wait for ${name}.`, "I wait.", NOTE);
      model.on(`Wait for ${name}.`, "I waited.");
      await conversation.ask(`Wait for ${name}.`);
      assert.equal((await conversation.person.newestRun()).status, "paused", name);
    });
    const before = server.requests;
    timers.passMinute();
    // A request that a timer sent is at the server before this one is answered.
    await fetch(`${server.url}/web/health`);
    assert.equal(server.requests, before + 1);
    await tell(async ([name, conversation]) => {
      await conversation.confirm();
      assert.equal((await conversation.person.newestRun()).answer, "I waited.", name);
    });
  } finally {
    timers.reset();
    server.close();
  }
}
