// The stories of the client in Node.js. openai_stories.py has the same for Python.

import assert from "node:assert/strict";
import OpenAI from "openai";

const question = (text) => [{ role: "user", content: text }];
const NOTE = { command: "upload", filename: "note.md", content: "9" };

const connect = (baseURL, headers = {}) =>
  new OpenAI({ baseURL, apiKey: "none", defaultHeaders: headers, dangerouslyAllowBrowser: false });

/** Joins the chunks of a stream. */
async function join(stream) {
  const joined = { content: "", reasoning: "", finish: "", tokens: 0 };
  for await (const chunk of stream) {
    joined.tokens = chunk.usage?.total_tokens ?? joined.tokens;
    const [choice] = chunk.choices;
    joined.content += choice?.delta.content ?? "";
    joined.reasoning += choice?.delta.reasoning_content ?? "";
    joined.finish = choice?.finish_reason ?? joined.finish;
  }
  return joined;
}

export const stories = {
  models: {
    script: () => undefined,
    async run(baseURL) {
      const models = [];
      for await (const model of connect(baseURL).models.list()) models.push(model.id);
      assert.ok(models.includes("djinn") && models.includes("djinn-plan-solve"), String(models));
    },
  },
  stream: {
    script(model) {
      model.on("Which region grew?", "North ", "grew.");
    },
    async run(baseURL) {
      const options = { model: "djinn", messages: question("Which region grew?"), stream: true };
      const stream = await connect(baseURL).chat.completions.create({ ...options, stream_options: { include_usage: true } });
      const { content, finish, tokens } = await join(stream);
      assert.deepEqual({ content, finish, tokens }, { content: "North grew.", finish: "stop", tokens: 120 });
    },
  },
  document: {
    script(model) {
      model.on("Which region shrank?", "South shrank.");
    },
    async run(baseURL) {
      const completion = await connect(baseURL).chat.completions.create({ model: "djinn-react", messages: question("Which region shrank?") });
      assert.equal(completion.choices[0].message.content, "South shrank.");
      assert.equal(completion.usage.total_tokens, 120);
    },
  },
  session: {
    script(model) {
      model.on("What is your name?", "Djinn.");
      model.on("And once more?", "Djinn, as I said.");
    },
    async run(baseURL) {
      const client = connect(baseURL, { "x-session-id": `node-${process.pid}` });
      const ask = async (text) => {
        const completion = await client.chat.completions.create({ model: "djinn", messages: question(text) });
        return completion.choices[0].message.content;
      };
      assert.equal(await ask("What is your name?"), "Djinn.");
      assert.equal(await ask("And once more?"), "Djinn, as I said.");
    },
  },
  approval: {
    script(model) {
      model.on("Note a nine.", "I note it.", { tool: "file_tool", arguments: NOTE });
      model.on("I note it.", "It is noted.");
    },
    async run(baseURL) {
      const client = connect(baseURL);
      const messages = question("Note a nine.");
      const asked = await join(await client.chat.completions.create({ model: "djinn", messages, stream: true }));
      assert.match(asked.content, /^I note it\.\n\n- `file_tool` \(/);
      assert.equal(asked.finish, "stop");
      messages.push({ role: "assistant", content: asked.content }, { role: "user", content: "confirm" });
      const done = await join(await client.chat.completions.create({ model: "djinn", messages, stream: true }));
      assert.match(done.content, /^It is noted\.\n\n- \[note\.md\]\(/);
    },
  },
  error: {
    script: () => undefined,
    async run(baseURL) {
      const ask = connect(baseURL).chat.completions.create({ model: "gpt-5", messages: question("Hello?") });
      await assert.rejects(ask, (error) => {
        assert.ok(error instanceof OpenAI.BadRequestError);
        assert.equal(error.code, "unknown_agent");
        assert.equal(error.param, "model");
        return true;
      });
    },
  },
};
