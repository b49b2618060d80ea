// The stories of AG-UI's client, in the version of the protocol 1.0 and in the last version before. Neither warns, and
// only a connection that is lost raises an error.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { HttpAgent } from "@ag-ui/client";
import { HttpAgent as OlderHttpAgent } from "ag-ui-client-0";

/** Each client, by its name in the matrix. */
export const clients = { "1.0.0": HttpAgent, "0.0.59": OlderHttpAgent };

const NOTE = { command: "upload", filename: "note.md", content: "9" };

/** Returns what the client writes to the console during `work`. */
export async function warnings(work) {
  const lines = [];
  const [warn, error] = [console.warn, console.error];
  console.warn = console.error = (...words) => lines.push(words.join(" "));
  try {
    await work();
  } finally {
    [console.warn, console.error] = [warn, error];
  }
  return lines;
}

const quietly = async (work) => assert.deepEqual(await warnings(work), []);

export const open = (url, Agent, options = {}) => new Agent({ url: `${url}/agui`, threadId: randomUUID(), ...options });

function ask(agent, text, parameters, subscriber) {
  agent.addMessage({ id: randomUUID(), role: "user", content: text });
  return agent.runAgent(parameters, subscriber);
}

const textsOf = (agent) => {
  const messages = agent.messages.filter((message) => message.role === "assistant" && message.content);
  return messages.map((message) => message.content);
};

const activitiesOf = (agent, type) => {
  const activities = agent.messages.filter((message) => message.role === "activity" && message.activityType === type);
  return activities.map((activity) => activity.content);
};

/** Waits until a client shows a text. */
async function shown(agent, text) {
  while (textsOf(agent).at(-1) !== text) await new Promise(setImmediate);
}

/** What a client shows, without the places of activities. */
export function stateOf(agent) {
  const isActivity = (message) => message.role === "activity";
  const activities = agent.messages.filter(isActivity).map((message) => JSON.stringify(message));
  return { messages: agent.messages.filter((message) => !isActivity(message)), activities: activities.sort(), state: agent.state };
}

const resolve = (interrupt, payload) => ({ interruptId: interrupt.id, status: "resolved", payload });

export const stories = {
  answer: {
    script(model, gate) {
      model.on("Which sea grew?", { reasoning: "Look north." }, "North ", gate, "grew.");
      model.on("And the second?", "South.");
    },
    run: (url, Agent, gate) =>
      quietly(async () => {
        const agent = open(url, Agent, { initialState: { own: 1 } });
        const asked = ask(agent, "Which sea grew?");
        await shown(agent, "North ");
        gate.open();
        const { result, newMessages } = await asked;
        assert.equal(result.status, "finished");
        assert.deepEqual(textsOf(agent), ["North grew."]);
        assert.deepEqual(newMessages.map((message) => message.role), ["reasoning", "assistant"]);
        assert.equal(agent.state.own, 1);
        await ask(agent, "And the second?");
        assert.deepEqual(textsOf(agent), ["North grew.", "South."]);
      }),
  },
  steps: {
    script(model) {
      const steps = ["look at tin", "look at zinc", "look at lead"];
      const create = { command: "create", title: "Metals", steps, depends_on: [[], [], []] };
      model.on("Three metals", { tool: "planning", arguments: create });
      for (const step of steps) model.on(step, `I ${step}.`);
      model.on("Three metals", { tool: "planning", arguments: { command: "finish" } });
      model.on("Three metals", "Tin is cheap.");
    },
    run: (url, Agent) =>
      quietly(async () => {
        const agent = open(url, Agent);
        await ask(agent, "Three metals", { forwardedProps: { djinn: { mode: "plan_solve" } } });
        assert.equal(textsOf(agent).at(-1), "Tin is cheap.");
        const [plan] = activitiesOf(agent, "PLAN");
        assert.deepEqual(plan.steps.map((step) => step.status), ["completed", "completed", "completed"]);
        assert.deepEqual(agent.state.djinn.plan, plan);
        const children = activitiesOf(agent, "CHILD");
        assert.deepEqual(children.map((child) => child.status), ["finished", "finished", "finished"]);
      }),
  },
  pause: {
    script(model) {
      const [first, second] = ["a.md", "b.md"].map((filename) => ({ ...NOTE, filename }));
      const question = { tool: "ask_user", arguments: { questions: ["Which year?"] } };
      model.on("Note two.", "I note them.", { tool: "file_tool", arguments: first }, { tool: "file_tool", arguments: second }, question);
      model.on("2024", "So be it.");
    },
    run: (url, Agent) =>
      quietly(async () => {
        const agent = open(url, Agent);
        await ask(agent, "Note two.");
        assert.equal(agent.pendingInterrupts.length, 3);
        const [change, skip, answer] = agent.pendingInterrupts;
        const shownArguments = change.responseSchema.properties.arguments.default;
        assert.equal(shownArguments.filename, "a.md");
        const resume = [
          resolve(change, { answer: "modify", arguments: { ...shownArguments, content: "8" }, comment: "Less." }),
          { interruptId: skip.id, status: "cancelled" },
          resolve(answer, { answer: "2024" }),
        ];
        await agent.runAgent({ resume });
        assert.deepEqual(agent.pendingInterrupts, []);
        assert.deepEqual(textsOf(agent), ["I note them.", "So be it."]);
        const files = activitiesOf(agent, "FILE");
        assert.deepEqual(files.map((file) => file.name), ["a.md"]);
        assert.equal(await (await fetch(files[0].url)).text(), "8");
        const results = agent.messages.filter((message) => message.role === "tool");
        assert.equal(results.length, 2, "the calls with their results");
      }),
  },
  stop: {
    // A stopped run may leave its rule unused, so each client has a question of its own.
    script: (model, gate, name) => model.on(`How wide, ${name}?`, "A whole ", gate, "mile."),
    run: (url, Agent, gate, name) =>
      quietly(async () => {
        const agent = open(url, Agent);
        const asked = ask(agent, `How wide, ${name}?`);
        await shown(agent, "A whole ");
        const stopped = await fetch(`${url}/runs/${agent.state.djinn.run}/stop`, { method: "POST" });
        assert.ok(stopped.ok);
        const { result } = await asked;
        assert.equal(result.status, "stopped");
      }),
  },
  failure: {
    script: (model) => model.on("Why so?", { status: 401, message: "no such key" }),
    run: (url, Agent) =>
      quietly(async () => {
        const agent = open(url, Agent);
        const errors = [];
        await ask(agent, "Why so?", {}, { onRunErrorEvent: ({ event }) => void errors.push(event) });
        assert.equal(errors.length, 1);
        assert.ok(errors[0].code && errors[0].message.length > 10, JSON.stringify(errors));
      }),
  },
  error: {
    script: () => undefined,
    async run(url, Agent) {
      const agent = open(url, Agent);
      const asking = () => ask(agent, "Hello?", { forwardedProps: { djinn: { mode: "gpt-5" } } });
      await warnings(() => assert.rejects(asking(), /HTTP 400: Unknown agent; there are `react`/));
    },
  },
};

/** Both clients at once, because a dead driver's lease lasts 15 seconds: the run outlives its server, and a client that
 * sends its request again shows what one shows that never left. */
export const death = {
  script(model, gate) {
    for (const name of Object.keys(clients)) {
      model.on(`How deep, ${name}?`, "Very ", gate);
      model.on(`How deep, ${name}?`, "Very deep.");
    }
  },
  async run(url, gate, system) {
    const agents = Object.entries(clients).map(([name, Agent]) => ({ name, agent: open(url, Agent), runId: randomUUID() }));
    const asking = agents.map(({ name, agent, runId }) => ask(agent, `How deep, ${name}?`, { runId }));
    // The client calls a connection that is lost an error, and throws it once more where nobody can catch it.
    const lost = (error) => assert.equal(error.message, "terminated");
    process.on("unhandledRejection", lost);
    try {
      await warnings(async () => {
        await Promise.all(agents.map(({ agent }) => shown(agent, "Very ")));
        await system.kill();
        await Promise.allSettled(asking);
      });
      await system.start();
      await quietly(() => Promise.all(agents.map(({ agent, runId }) => agent.runAgent({ runId }))));
      for (const { agent, runId } of agents) {
        assert.deepEqual(textsOf(agent), ["Very deep."]);
        const fresh = open(url, agent.constructor, { threadId: agent.threadId, initialMessages: agent.messages.slice(0, 1) });
        await quietly(() => fresh.runAgent({ runId }));
        assert.deepEqual(stateOf(agent), stateOf(fresh));
      }
    } finally {
      process.off("unhandledRejection", lost);
    }
    gate.open();
  },
};
