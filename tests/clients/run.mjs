// Unmodified clients of other protocols against `cargo dev`: `node run.mjs`. The stories of OpenAI's SDKs run in Node.js
// and in Python, for both of its APIs, those of the AI SDK with each of its transports, that of its page in Chromium, and
// those of MCP and AG-UI with each of their clients. Then connections are lost after every frame, and runs pause. At last
// all clients tell the stories of the matrix.

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { clients as agUiClients, death as agUiDeath, stories as agUiStories } from "./ag_ui.mjs";
import { stories as aiSdkStories } from "./ai_sdk.mjs";
import { allClients } from "./conversations.mjs";
import { cutAgUi, cutAiSdk } from "./cuts.mjs";
import { printMatrix, tellMatrix } from "./matrix.mjs";
import { chatInBrowser } from "./browser.mjs";
import { clients as mcpClients, stories as mcpStories } from "./mcp.mjs";
import { stories as openaiStories } from "./openai.mjs";
import { pauseForAMinute } from "./pauses.mjs";
import { death as responsesDeath, stories as responsesStories } from "./responses.mjs";
import { Gate, ScriptedModel } from "../../web/stories/model.mjs";
import { System } from "../../web/stories/system.mjs";

const PYTHON = process.env.CLIENTS_PYTHON ?? "python3";

const model = await ScriptedModel.start();
const variables = {
  OPENAI_API_KEY: "story-key",
  OPENAI_BASE_URL: model.url,
  OPENAI_MODEL: "story",
  DJINN_PEOPLE__REQUESTS: JSON.stringify({ enabled: true, clarify: true, timeout: 0 }),
};
const system = await System.start(variables);
const handingOver = await System.start({ ...variables, DJINN_ALWAYS_HAND_OVER: "1" });
const baseURL = `${system.url}/v1`;
let failed = 0;

async function check(client, name, run) {
  try {
    await run();
    console.log(`ok      ${client}: ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${client}: ${name}: ${error.stderr || error.stack}`);
  }
}

for (const [name, { script, run }] of Object.entries(openaiStories)) {
  script(model);
  await check("openai, Node.js", name, () => run(baseURL));
  script(model);
  const python = new URL("openai_stories.py", import.meta.url).pathname;
  await check("openai, Python", name, () => promisify(execFile)(PYTHON, [python, baseURL, name], { timeout: 60_000 }));
}
for (const [name, { script, run }] of Object.entries(responsesStories)) {
  const gate = new Gate();
  script(model, gate);
  await check("responses, Node.js", name, () => run(baseURL, gate));
  gate.open();
  const opened = new Gate();
  script(model, opened);
  if (name !== "cancel") opened.open();
  const python = new URL("responses_stories.py", import.meta.url).pathname;
  await check("responses, Python", name, () => promisify(execFile)(PYTHON, [python, baseURL, name], { timeout: 60_000 }));
  opened.open();
}
model.on("Which mountain is high?", "The ", "Eiger.");
model.on("The Eiger.", "3967 metres.");
model.on("3967 metres.", "The ", "Jungfrau.");
const agentsSdk = new URL("agents_sdk.py", import.meta.url).pathname;
await check("OpenAI Agents SDK", "turns", () => promisify(execFile)(PYTHON, [agentsSdk, baseURL], { timeout: 60_000 }));
for (const [name, { script, run }] of Object.entries(aiSdkStories)) {
  for (const transport of ["default", "reconnecting"]) {
    const gate = new Gate();
    script(model, gate);
    await check(`ai, ${transport} transport`, name, () => run(system.url, transport, gate));
  }
}
await check("useChat, Chromium", "reload, approve, stop", async () => {
  if (await chatInBrowser(model, system)) return;
  console.log("*** SKIPPED: no Chromium runs on this machine. Set CHROME to an installed Chrome. ***");
});
for (const [name, { script, run }] of Object.entries(mcpStories)) {
  for (const [client, open] of Object.entries(mcpClients)) {
    const gate = new Gate();
    script(model, gate, client);
    await check(`MCP, ${client}`, name, () => run(system.url, open, client));
    gate.open();
  }
  const gate = new Gate();
  script(model, gate, "Python");
  const python = new URL("mcp_stories.py", import.meta.url).pathname;
  await check("MCP, Python", name, () => promisify(execFile)(PYTHON, [python, system.url, name], { timeout: 60_000 }));
  gate.open();
}
for (const [name, { script, run }] of Object.entries(agUiStories)) {
  for (const [version, Agent] of Object.entries(agUiClients)) {
    const gate = new Gate();
    script(model, gate, version);
    await check(`AG-UI, ${version}`, name, () => run(system.url, Agent, gate, version));
    gate.open();
  }
}
const agUiGate = new Gate();
agUiDeath.script(model, agUiGate);
await check("AG-UI, both", "death", () => agUiDeath.run(system.url, agUiGate, system));
const responsesGate = new Gate();
responsesDeath.script(model, responsesGate);
await check("responses, Node.js", "death", () => responsesDeath.run(baseURL, responsesGate, system));
for (const transport of ["default", "reconnecting"]) {
  await check(`ai, ${transport} transport`, "cut", () => cutAiSdk(system.url, model, transport));
}
for (const [version, Agent] of Object.entries(agUiClients)) {
  await check(`AG-UI, ${version}`, "cut", () => cutAgUi(system.url, model, Agent, version));
}
const clients = allClients(PYTHON);
const inNode = Object.entries(clients).filter(([name]) => !name.endsWith("Python"));
await check("all in Node.js", "a minute of a pause", () => pauseForAMinute({ clients: inNode, system, model }));
const results = await tellMatrix({
  clients,
  systems: { "": system, ", handoffs": handingOver },
  model,
});
failed += printMatrix(results);
await handingOver.close();
await system.close();
model.close();
console.log(failed === 0 ? "all stories passed" : `${failed} stories failed`);
process.exit(failed === 0 ? 0 : 1);
