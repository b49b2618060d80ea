// The stories of the Responses API for the client in Node.js. responses_stories.py has the same for Python.

import assert from "node:assert/strict";
import OpenAI from "openai";
import { textsOf } from "./conversations.mjs";

const NOTE = { command: "upload", filename: "note.md", content: "9" };

const connect = (baseURL) => new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });

async function collect(stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

export const stories = {
  stream: {
    script(model) {
      model.on("Which river is long?", { reasoning: "Many are." }, "The ", "Nile.");
    },
    async run(baseURL) {
      const stream = connect(baseURL).responses.stream({ model: "djinn", input: "Which river is long?" });
      const response = await stream.finalResponse();
      assert.deepEqual([response.status, response.output_text], ["completed", "The Nile."]);
      assert.equal(response.usage.total_tokens, 120);
      assert.ok(response.output.some((item) => item.type === "reasoning"), JSON.stringify(response.output));
    },
  },
  previous: {
    script(model) {
      model.on("Which river is short?", "The Reprua.");
      model.on("The Reprua.", "Eighteen metres.");
    },
    async run(baseURL) {
      const { responses } = connect(baseURL);
      const first = await responses.create({ model: "djinn", input: "Which river is short?" });
      assert.equal(first.output_text, "The Reprua.");
      const next = await responses.create({ model: "djinn", input: "How short?", previous_response_id: first.id });
      assert.deepEqual([next.output_text, next.previous_response_id], ["Eighteen metres.", first.id]);
    },
  },
  background: {
    script(model, gate) {
      model.on("Which river is deep?", "The ", gate, "Congo.");
    },
    async run(baseURL, gate) {
      const { responses } = connect(baseURL);
      const started = await responses.create({ model: "djinn", input: "Which river is deep?", background: true });
      assert.deepEqual([started.status, started.output], ["in_progress", []]);
      const stream = await responses.retrieve(started.id, { stream: true });
      gate.open();
      assert.deepEqual(textsOf(await collect(stream)), ["The Congo."]);
      const ended = await responses.retrieve(started.id);
      assert.deepEqual([ended.status, ended.output_text], ["completed", "The Congo."]);
    },
  },
  cancel: {
    script(model, gate) {
      model.on("Which river is wide?", "The ", gate, "Amazon.");
    },
    async run(baseURL, gate) {
      const { responses } = connect(baseURL);
      const started = await responses.create({ model: "djinn", input: "Which river is wide?", background: true });
      await gate.reached;
      const stopped = await responses.cancel(started.id);
      assert.equal(stopped.status, "cancelled");
      const replay = responses.stream({ response_id: started.id });
      assert.equal((await replay.finalResponse()).status, "cancelled");
    },
  },
  cut: {
    script(model) {
      model.on("Which rivers?", { reasoning: "Some." }, "Two: ", { tool: "file_tool", arguments: { command: "get", filename: "none.md" } });
      model.on("none.md", { reasoning: "Enough." }, "The Nile ", "— and ", "the Congo.");
    },
    async run(baseURL) {
      const { responses } = connect(baseURL);
      const events = await collect(await responses.create({ model: "djinn", input: "Which rivers?", stream: true }));
      const texts = textsOf(events);
      assert.deepEqual(texts, ["Two: ", "The Nile — and the Congo."]);
      const last = events.at(-1).response;
      assert.deepEqual(last.output.flatMap((item) => item.content ?? []).map((part) => part.text), texts);
      for (let cut = 1; cut < events.length; cut += 1) {
        const seen = events.slice(0, cut);
        const options = { stream: true, starting_after: seen.at(-1).sequence_number };
        const rest = await collect(await responses.retrieve(last.id, options));
        assert.ok(rest[0].sequence_number > options.starting_after);
        assert.deepEqual(textsOf([...seen, ...rest]), texts, `cut at ${cut}`);
        assert.deepEqual(rest.at(-1).response.output, last.output);
      }
    },
  },
  approval: {
    script(model) {
      model.on("Note a river.", "I note it.", { tool: "file_tool", arguments: NOTE });
      model.on("I note it.", "It is noted.");
    },
    async run(baseURL) {
      const { responses } = connect(baseURL);
      const asked = await responses.stream({ model: "djinn", input: "Note a river." }).finalResponse();
      assert.match(asked.output_text, /^I note it\.\n\n- `file_tool` \(/);
      const options = { model: "djinn", input: "confirm", previous_response_id: asked.id };
      const done = await responses.stream(options).finalResponse();
      assert.equal(done.id, asked.id);
      assert.match(done.output_text, /It is noted\.\n\n- \[note\.md\]\(/);
    },
  },
  failure: {
    script(model) {
      model.on("Which river fails?", { status: 401, message: "Incorrect API key provided" });
    },
    async run(baseURL) {
      const { responses } = connect(baseURL);
      const failed = await responses.create({ model: "djinn", input: "Which river fails?" });
      assert.deepEqual([failed.status, failed.error.code], ["failed", "model_key_refused"]);
      await assert.rejects(responses.retrieve(`run_${"0".repeat(32)}`), (error) => {
        assert.ok(error instanceof OpenAI.NotFoundError);
        assert.equal(error.code, "run_not_found");
        return true;
      });
    },
  },
};

export const death = {
  script(model, gate) {
    model.on("Which river survives?", "The ", gate);
    model.on("Which river survives?", "All of them.");
  },
  async run(baseURL, gate, system) {
    const { responses } = connect(baseURL);
    const events = [];
    const reading = (async () => {
      const stream = await responses.create({ model: "djinn", input: "Which river survives?", stream: true });
      for await (const event of stream) {
        events.push(event);
        if (event.type === "response.output_text.delta") await system.kill();
      }
    })();
    await assert.rejects(reading);
    await system.start();
    const options = { stream: true, starting_after: events.at(-1).sequence_number };
    events.push(...(await collect(await responses.retrieve(events[0].response.id, options))));
    assert.deepEqual(textsOf(events), ["All of them."]);
    assert.equal(events.at(-1).response.status, "completed");
    gate.open();
  },
};
