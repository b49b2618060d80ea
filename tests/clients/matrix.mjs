// The stories that every client tells, also with a handoff after every record. Each ends with the state of the journal.

import assert from "node:assert/strict";
import { Gate } from "../../web/stories/model.mjs";

const note = (filename) => ({ tool: "file_tool", arguments: { command: "upload", filename, content: "9" } });
const question = (text) => ({ tool: "ask_user", arguments: { questions: [text] } });

/** Checks that the client shows the answer and the status of the journal. */
async function endsAs(conversation, { answer, status = "finished" }) {
  const run = await conversation.person.newestRun();
  assert.equal(run.status, status);
  if (answer === undefined) return;
  assert.equal(run.answer, answer);
  assert.ok(conversation.text.includes(answer), conversation.text);
}

async function contentOf(url) {
  const response = await fetch(url);
  assert.ok(response.ok, `${url}: ${response.status}`);
  return response.text();
}

/** The longest time of a story, in milliseconds: far above what it takes on two busy cores. */
const PATIENCE = 180_000;

async function inTime(work) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error("no end")), PATIENCE)));
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A story has the model's `script`, for questions that name the client, and what the client does. */
export const matrix = {
  file: {
    script(model, name) {
      // The parts of AG-UI's messages have no names.
      const filename = name.startsWith("AG-UI") ? "attachment-1.csv" : "metals.csv";
      const read = { tool: "file_tool", arguments: { command: "get", filename } };
      model.on(`Weigh for ${name}`, "I read.", read);
      model.on(`Weigh for ${name}`, "I write.", note("weights.md"));
      model.on(`Weigh for ${name}`, "See the file.");
    },
    async run(conversation, { name, model }) {
      const file = { name: "metals.csv", text: `metal,weight\nzinc of ${name},7\n` };
      await conversation.ask(`Weigh for ${name}`, { file });
      const texts = model.requests.map(({ messages }) => JSON.stringify(messages));
      assert.ok(texts.some((text) => text.includes(`zinc of ${name}`)), "the model read the file");
      await conversation.confirm();
      await endsAs(conversation, { answer: "See the file." });
      assert.equal(conversation.files.length, 1, conversation.text);
      assert.equal(await contentOf(conversation.files[0]), "9");
    },
  },
  steps: {
    // The laptop has a limit of tasks at once, and each client holds three.
    isAlone: true,
    script(model, name, gates) {
      const steps = ["tin", "lead", "gold"].map((metal) => `look at ${metal} for ${name}`);
      const create = { command: "create", title: "Metals", steps, depends_on: [[], [], []] };
      model.on(`Metals for ${name}`, { tool: "planning", arguments: create });
      for (const step of steps) {
        const gate = new Gate();
        gates.push(gate);
        model.on(step, gate, `I ${step}.`);
      }
      model.on(`Metals for ${name}`, { tool: "planning", arguments: { command: "finish" } });
      model.on(`Metals for ${name}`, "Tin is cheap.");
    },
    async run(conversation, { name, gates }) {
      const asked = conversation.ask(`Metals for ${name}`, { mode: "plan_solve" });
      await Promise.race([asked, Promise.all(gates.map((gate) => gate.reached))]);
      for (const gate of gates) gate.open();
      await asked;
      await endsAs(conversation, { answer: "Tin is cheap." });
    },
  },
  discarded: {
    script(model, name) {
      model.on(`Is it for ${name}`, "Half an ", { cut: true });
      model.on(`Is it for ${name}`, "It is.");
    },
    async run(conversation, { name }) {
      await conversation.ask(`Is it for ${name}`);
      await endsAs(conversation, { answer: "It is." });
      // Chat Completions cannot take a text back, so a sentence follows.
      assert.ok(conversation.keepsVoidText || !conversation.text.includes("Half"), conversation.text);
    },
  },
  pause: {
    script(model, name) {
      const calls = [note("a.md"), note("b.md"), question("Which year?")];
      model.on(`Note two for ${name}`, "I note them.", ...calls);
      model.on(`Note two for ${name}`, "So be it.");
    },
    async run(conversation, { name, model }) {
      await conversation.ask(`Note two for ${name}`);
      await conversation.decide({ confirm: "a.md", skip: "b.md", words: `2024, says ${name}` });
      await endsAs(conversation, { answer: "So be it." });
      assert.equal(conversation.files.length, 1, conversation.text);
      assert.match(conversation.files[0], /a\.md/);
      const request = model.requests.findLast(({ messages }) => JSON.stringify(messages).includes(`2024, says ${name}`));
      assert.ok(request, "the model read the answer");
    },
  },
  change: {
    can: (conversation) => conversation.change !== undefined,
    script(model, name) {
      model.on(`Note one for ${name}`, "I will write one.", note("c.md"));
      model.on(`Note one for ${name}`, "Noted.");
    },
    async run(conversation, { name }) {
      await conversation.ask(`Note one for ${name}`);
      await conversation.change({ content: "8" });
      await endsAs(conversation, { answer: "Noted." });
      assert.equal(await contentOf(conversation.files[0]), "8");
    },
  },
  budget: {
    script(model, name) {
      const read = { tool: "file_tool", arguments: { command: "get", filename: "none.md" } };
      model.on(`Spend for ${name}`, "I look.", read, { tokens: 50_000_000 });
      model.on(`Spend for ${name}`, "Well spent.");
    },
    async run(conversation, { name }) {
      await conversation.ask(`Spend for ${name}`);
      await conversation.confirm();
      await endsAs(conversation, { answer: "Well spent." });
    },
  },
  stop: {
    script(model, name, gates) {
      gates.push(new Gate());
      model.on(`How wide for ${name}`, "A whole ", gates[0], "mile.");
    },
    async run(conversation, { name, gates }) {
      const asked = conversation.ask(`How wide for ${name}`);
      await Promise.race([asked, gates[0].reached]);
      await conversation.stop();
      await asked;
      await endsAs(conversation, { status: "stopped" });
    },
  },
  failure: {
    script: (model, name) => model.on(`Why for ${name}`, { status: 401, message: "no such key" }),
    async run(conversation, { name }) {
      await conversation.ask(`Why for ${name}`);
      await endsAs(conversation, { status: "failed" });
      assert.match(conversation.text, /key/);
    },
  },
};

/** The run outlives its process, and the client follows it by its own means. */
export const death = {
  script(model, name, gates) {
    gates.push(new Gate());
    model.on(`How deep for ${name}`, "Very ", gates[0]);
    model.on(`How deep for ${name}`, "Very deep.");
  },
  ask: (conversation, name) => conversation.ask(`How deep for ${name}`),
  async resume(conversation) {
    await conversation.resume();
    await endsAs(conversation, { answer: "Very deep." });
  },
};

/**
 * Tells all stories by all clients. `systems` are the systems, by what sets them apart. Returns the failures as
 * [client, story, error].
 */
export async function tellMatrix({ clients, systems, model }) {
  const tellers = Object.entries(systems).flatMap(([kind, system]) =>
    Object.entries(clients).map(([client, open]) => ({ client: `${client}${kind}`, open: () => open(system.url), system })),
  );
  const results = Object.fromEntries(tellers.map(({ client }) => [client, {}]));
  const lines = [];
  const { warn, error } = console;
  console.warn = console.error = (...words) => lines.push(words.join(" "));
  const tell = async ({ client, open }, name, { can = () => true, script, run }) => {
    const conversation = open();
    const gates = [];
    try {
      if (!can(conversation)) return;
      // The name tells the questions of clients apart, so all may ask at once.
      const id = `${client} ${name}.`;
      script(model, id, gates);
      await inTime(run(conversation, { name: id, gates, model }));
      results[client][name] = "ok";
    } catch (error) {
      results[client][name] = error;
    } finally {
      for (const gate of gates) gate.open();
    }
  };
  for (const [name, story] of Object.entries(matrix)) {
    if (story.isAlone) for (const teller of tellers) await tell(teller, name, story);
    else await Promise.all(tellers.map((teller) => tell(teller, name, story)));
    if (lines.length > 0) results[`a client warns in ${name}`] = { [name]: new Error(lines.splice(0).join("\n")) };
  }
  await dieOnce({ tellers, systems, model, results });
  Object.assign(console, { warn, error });
  return results;
}

/** Kills all systems while all clients read, because the lease of a dead driver lasts 15 seconds. */
async function dieOnce({ tellers, systems, model, results }) {
  // Clients report a connection that is lost, and AG-UI's throws it once more where nobody can catch it.
  const ignore = () => undefined;
  process.on("unhandledRejection", ignore);
  const tales = tellers.map(({ client, open }) => {
    const gates = [];
    death.script(model, `${client}.`, gates);
    const conversation = open();
    return { client, conversation, gates, asked: death.ask(conversation, `${client}.`).catch(ignore) };
  });
  await Promise.all(tales.map(({ gates, asked }) => Promise.race([gates[0].reached, asked])));
  for (const system of Object.values(systems)) await system.kill();
  for (const system of Object.values(systems)) await system.start();
  const resumed = tales.map(async ({ client, conversation, gates, asked }) => {
    try {
      if (!conversation.losesCallsQuietly) await inTime(asked);
      await inTime(death.resume(conversation));
      results[client].death = "ok";
    } catch (error) {
      results[client].death = error;
    } finally {
      gates[0].open();
    }
  });
  await Promise.all(resumed);
  process.off("unhandledRejection", ignore);
}

/** Prints clients and stories, and returns the number of failures. */
export function printMatrix(results) {
  const names = [...Object.keys(matrix), "death"];
  const cell = (result) => (result === undefined ? "-" : result === "ok" ? "ok" : "FAILED");
  const width = Math.max(...Object.keys(results).map((client) => client.length));
  console.log([" ".repeat(width), ...names].join("  "));
  let failures = 0;
  for (const [client, told] of Object.entries(results)) {
    console.log([client.padEnd(width), ...names.map((name) => cell(told[name]).padEnd(name.length))].join("  "));
  }
  for (const [client, told] of Object.entries(results)) {
    for (const [name, result] of Object.entries(told).filter(([, result]) => result !== "ok")) {
      failures += 1;
      console.log(`FAILED  ${client}: ${name}: ${result.stack}`);
    }
  }
  return failures;
}
