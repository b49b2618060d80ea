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
        const isOnce = name === "setTimeout";
        const timer = original(() => (isOnce && this.#waiting.delete(timer), run(...args)), delay);
        this.#waiting.set(timer, { delay, isOnce, run: () => run(...args) });
        return timer;
      };
    }
    for (const name of ["clearTimeout", "clearInterval"]) {
      const original = (this.#originals[name] = globalThis[name]);
      globalThis[name] = (timer) => (this.#waiting.delete(timer), original(timer));
    }
  }

  /** Runs the timers of a minute at once, but not those that they set or clear. */
  passMinute() {
    for (const [timer, { delay, isOnce, run }] of [...this.#waiting]) {
      if (delay > 60_000 || !this.#waiting.has(timer)) continue;
      if (isOnce) clearTimeout(timer);
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
    const pause = (length, pass) => requestsSincePause({ clients, server, model, length, pass });
    const known = await pause("a moment", () => undefined);
    const requests = await pause("a minute", () => timers.passMinute());
    assert.equal(requests, known, "requests since the pause began");
  } finally {
    timers.reset();
    server.close();
  }
}

/** Returns the number of requests that all clients send from the pause of their runs to the answers. */
async function requestsSincePause({ clients, server, model, length, pass }) {
  const conversations = clients.map(([name, open]) => [name, open(server.url)]);
  const tell = (work) => Promise.all(conversations.map(work));
  await tell(async ([name, conversation]) => {
    const question = `Wait ${length} for ${name}.`;
    model.on(question, "I wait.", NOTE);
    model.on(question, "I waited.");
    await conversation.ask(question);
    assert.equal((await conversation.person.newestRun()).status, "paused", name);
  });
  const before = server.requests;
  pass();
  // A client may send a request some turns after its timer.
  for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
  // An earlier request is at the server before this one is answered.
  await fetch(`${server.url}/web/health`);
  assert.equal(server.requests, before + 1, `requests during ${length}`);
  await tell(async ([name, conversation]) => {
    await conversation.confirm();
    assert.equal((await conversation.person.newestRun()).answer, "I waited.", name);
  });
  return server.requests - before;
}
