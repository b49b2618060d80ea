// The stories of MCP's clients in Node.js: the SDK of the older revisions, and the client that negotiates the newest.
// mcp_stories.py has the same for Python.

import assert from "node:assert/strict";
import { Client as NegotiatingClient, StreamableHTTPClientTransport as NegotiatingTransport } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const INFO = { name: "stories", version: "1.0.0" };
const NOTE = { command: "upload", filename: "note.md", content: "9" };

const negotiating = (mode) => (url) => [
  new NegotiatingClient(INFO, { versionNegotiation: { mode } }),
  new NegotiatingTransport(url),
];

/** Each client, by its name in the matrix. */
export const clients = {
  "sdk 1": (url) => [new Client(INFO), new StreamableHTTPClientTransport(url)],
  "client 2, legacy": negotiating("legacy"),
  "client 2, auto": negotiating("auto"),
  "client 2, 2026-07-28": negotiating({ pin: "2026-07-28" }),
};

/** Runs `work` with a connected client. The client raises nothing meanwhile. */
async function connected(url, open, work) {
  const [client, transport] = open(new URL(`${url}/mcp`));
  const errors = [];
  client.onerror = (error) => errors.push(error);
  await client.connect(transport);
  await work(client);
  await client.close();
  assert.deepEqual(errors, []);
}

const call = (client, name, args, options) =>
  client.callTool({ name, arguments: args }, ...(client instanceof Client ? [undefined, options] : [options]));

const textOf = (result) => {
  const texts = result.content.filter((block) => block.type === "text");
  return texts.map((block) => block.text).join("\n");
};

/** Responds as a human does, in another client. */
async function respond(url, run, response) {
  const answer = await fetch(`${url}/runs/${run}/requests/t1.c1/response`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ response }),
  });
  assert.equal(answer.status, 200);
}

export const stories = {
  answer: {
    script: (model) => model.on("Which lake grew?", "Como grew."),
    run: (url, open) =>
      connected(url, open, async (client) => {
        const { tools } = await client.listTools();
        assert.deepEqual(tools.map((tool) => tool.name), ["ask", "look", "say", "stop"]);
        const result = await call(client, "ask", { question: "Which lake grew?" });
        assert.equal(textOf(result), "Como grew.");
        assert.equal(result.structuredContent.status, "finished");
      }),
  },
  question: {
    script(model) {
      model.on("How much?", { tool: "ask_user", arguments: { questions: ["Which year?"] } });
      model.on("2024", "Nine.");
    },
    run: (url, open) =>
      connected(url, open, async (client) => {
        const asked = await call(client, "ask", { question: "How much?" });
        assert.equal(asked.structuredContent.status, "paused");
        assert.match(textOf(asked), /Which year\?/);
        const { run } = asked.structuredContent;
        const said = await call(client, "say", { run, text: "2024" });
        assert.ok(!said.isError, JSON.stringify(said));
        const looked = await call(client, "look", { run });
        assert.equal(looked.structuredContent.answer, "Nine.");
      }),
  },
  approval: {
    script(model) {
      model.on("Note an eight.", "I note it.", { tool: "file_tool", arguments: NOTE });
      model.on("I note it.", "So be it.");
    },
    run: (url, open) =>
      connected(url, open, async (client) => {
        const lines = [];
        const onprogress = ({ message }) => lines.push(message);
        const asked = await call(client, "ask", { question: "Note an eight." }, { onprogress });
        assert.match(lines.join(), /file_tool/);
        const { run, session, status } = asked.structuredContent;
        assert.equal(status, "paused");
        for (const text of ["confirm", "continue"]) {
          const said = await call(client, "say", { run, text });
          assert.equal(said.isError, true, "a model does not approve");
          const again = await call(client, "ask", { question: text, session });
          assert.equal(again.isError, true, "nor by a question");
        }
        await respond(url, run, "confirm");
        const looked = await call(client, "look", { run });
        assert.equal(looked.structuredContent.answer, "So be it.");
        const link = looked.content.find((block) => block.type === "resource_link");
        assert.equal(await (await fetch(link.uri)).text(), "9");
      }),
  },
  stop: {
    // A stopped run may leave its rule unused, so each client has a question of its own.
    script: (model, gate, client) => model.on(`How long, ${client}?`, "A whole ", gate, "day."),
    run: (url, open, name) =>
      connected(url, open, async (client) => {
        const asked = await call(client, "ask", { question: `How long, ${name}?`, wait_s: 0 });
        const { run, status } = asked.structuredContent;
        assert.equal(status, "running");
        await call(client, "stop", { run });
        const looked = await call(client, "look", { run });
        assert.equal(looked.structuredContent.status, "stopped");
      }),
  },
  error: {
    script: () => undefined,
    run: (url, open) =>
      connected(url, open, async (client) => {
        const refused = await call(client, "ask", { question: "Hello?", mode: "gpt-5" });
        assert.equal(refused.isError, true);
        assert.match(textOf(refused), /Unknown agent; there are `react`/);
        const unknown = await call(client, "look", { run: "q1" });
        assert.match(textOf(unknown), /run/i);
        await assert.rejects(call(client, "approve", {}), /`params\.name` must be/);
      }),
  },
};
