// A conversation by each client, in the way its users have one. Each has the same methods, so `matrix.mjs` tells one
// story by all of them. A response that ends before its run is followed by the client's own means.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import OpenAI from "openai";
import { clients as agUiClients } from "./ag_ui.mjs";
import { open as openChat } from "./ai_sdk.mjs";
import { clients as mcpClients } from "./mcp.mjs";

const base64 = (text) => Buffer.from(text).toString("base64");
const dataUri = (file) => `data:text/csv;base64,${base64(file.text)}`;
const linksOf = (text) => [...text.matchAll(/\]\((http[^)]+)\)/g)].map(([, url]) => url);

/** The person who uses a client, in another tab: by Djinn's own protocol. */
class Person {
  constructor(url, session) {
    Object.assign(this, { url, session });
  }

  async #fetch(path, body) {
    const headers = { "content-type": "application/json" };
    const options = body === undefined ? {} : { method: "POST", headers, body: JSON.stringify(body) };
    const response = await fetch(`${this.url}${path}`, options);
    const text = await response.text();
    assert.ok(response.ok, `${path}: ${text}`);
    return JSON.parse(text);
  }

  /** The newest run of the session, as the journal has it. */
  async newestRun() {
    const { turns } = await this.#fetch(`/sessions/${this.session}`);
    return turns[0];
  }

  async stop() {
    await this.#fetch(`/runs/${(await this.newestRun()).run}/stop`, {});
  }

  /** Responds to the open request about this file, or to the only one. */
  async respond(response, filename) {
    const { run } = await this.newestRun();
    const { requests } = await this.#fetch(`/runs/${run}/requests`);
    const isAbout = (request) => filename === undefined || request.arguments?.filename === filename;
    const request = requests.find(isAbout);
    assert.ok(request, JSON.stringify(requests));
    await this.#fetch(`/runs/${run}/requests/${request.id}/response`, { response });
  }

  async upload({ name, text }) {
    await this.#fetch(`/sessions/${this.session}/files`, { name, content: text });
  }
}

/** What all conversations have: a person beside the client. */
class Conversation {
  session = `matrix-${randomUUID()}`;
  files = [];
  text = "";
  status = "";

  constructor(url) {
    this.url = url;
    this.person = new Person(url, this.session);
  }

  stop() {
    return this.person.stop();
  }
}

/** Clients that respond by the next message, which decides all open requests alike. */
class TextConversation extends Conversation {
  async decide({ confirm, skip, words }) {
    await this.person.respond("confirm", confirm);
    await this.person.respond("skip", skip);
    await this.ask(words);
  }

  confirm() {
    return this.ask("confirm");
  }

  change(changed) {
    return this.ask(JSON.stringify(changed));
  }
}

class ChatCompletions extends TextConversation {
  keepsVoidText = true;

  async ask(question, { mode, file } = {}) {
    const client = new OpenAI({ baseURL: `${this.url}/v1`, apiKey: "none", maxRetries: 0 });
    const parts = [{ type: "text", text: question }];
    if (file) parts.push({ type: "file", file: { filename: file.name, file_data: dataUri(file) } });
    const model = mode ? `djinn-${mode.replace("_", "-")}` : "djinn";
    const headers = { "x-session-id": this.session };
    const messages = [{ role: "user", content: file ? parts : question }];
    this.text = "";
    let finish;
    for await (const chunk of await client.chat.completions.create({ model, messages, stream: true }, { headers })) {
      const [choice] = chunk.choices;
      this.text += choice?.delta.content ?? "";
      finish = choice?.finish_reason ?? finish;
    }
    this.files = linksOf(this.text);
    if (finish === "length") await this.resume();
    else assert.equal(finish, "stop");
  }

  resume() {
    return this.ask("continue");
  }
}

class Responses extends TextConversation {
  #events = [];
  #client;

  constructor(url) {
    super(url);
    this.#client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });
  }

  async ask(question, { mode, file } = {}) {
    const content = [{ type: "input_text", text: question }];
    if (file) content.push({ type: "input_file", filename: file.name, file_data: dataUri(file) });
    const model = mode ? `djinn-${mode.replace("_", "-")}` : "djinn";
    const input = file ? [{ role: "user", content }] : question;
    this.#events = [];
    await this.#read(await this.#client.responses.create({ model, input, conversation: this.session, stream: true }));
  }

  async #read(stream) {
    for await (const event of stream) this.#events.push(event);
    const last = this.#events.at(-1);
    if (!["response.completed", "response.failed", "response.incomplete"].includes(last.type)) return this.resume();
    const shown = textsOf(this.#events);
    const texts = last.response.output.filter((item) => item.type === "message").map((item) => item.content[0].text);
    assert.deepEqual(shown, texts.slice(texts.length - shown.length), "events and response have the same texts");
    this.status = last.response.status;
    this.text = [...texts, last.response.error?.message ?? ""].join("");
    this.files = linksOf(this.text);
  }

  async resume() {
    const last = this.#events.at(-1);
    const id = this.#events[0].response.id;
    await this.#read(await this.#client.responses.retrieve(id, { stream: true, starting_after: last.sequence_number }));
  }

  async stop() {
    await this.#client.responses.cancel((await this.person.newestRun()).run);
  }
}

/** Joins the pieces of each text that did not become void. */
export function textsOf(events) {
  const texts = new Map();
  for (const event of events) {
    if (event.type === "response.output_text.delta") {
      texts.set(event.output_index, (texts.get(event.output_index) ?? "") + event.delta);
    } else if (event.type === "response.output_item.done" && event.item.status === "incomplete") {
      texts.delete(event.output_index);
    }
  }
  return [...texts.entries()].sort(([one], [other]) => one - other).map(([, text]) => text);
}

class AiSdk extends Conversation {
  #chat;
  #errors;

  constructor(url, transport) {
    super(url);
    const { chat, errors } = openChat(url, transport, { id: this.session });
    [this.#chat, this.#errors, this.transport] = [chat, errors, transport];
  }

  async ask(question, { mode, file } = {}) {
    const files = file ? [{ type: "file", mediaType: "text/csv", filename: file.name, url: dataUri(file) }] : undefined;
    await this.#send({ text: question, files }, mode ? { body: { mode } } : {});
  }

  async #send(message, options) {
    this.#errors.length = 0;
    const sent = this.#chat.sendMessage(message, options);
    // The reconnecting transport sends no id of its chat, so its session is that of the first message.
    while (this.#chat.messages.length === 0) await new Promise(setImmediate);
    if (this.transport === "reconnecting") this.person.session = `chat-${this.#chat.messages[0].id}`;
    await sent;
    assert.deepEqual(this.#errors, []);
    // After a `continue`, the rest is in the message of its run, which may be above.
    const { metadata, parts } = this.#chat.messages.findLast((message) => message.role === "assistant") ?? {};
    if (!metadata || metadata.status === "running") return this.ask("continue");
    this.status = metadata.status;
    this.text = parts.filter((part) => part.type === "text").map((part) => part.text).join("");
    this.files = parts.filter((part) => part.type === "data-file").map((part) => part.data.url);
  }

  async decide({ confirm, skip, words }) {
    for (const [filename, approved] of [[confirm, true], [skip, false]]) {
      const isAbout = (part) => part.type === "dynamic-tool" && part.input?.filename === filename;
      const { approval } = this.#chat.lastMessage.parts.find(isAbout);
      await this.#chat.addToolApprovalResponse({ id: approval.id, approved });
    }
    await this.#send();
    await this.ask(words);
  }

  async confirm() {
    const approval = this.#chat.lastMessage.parts.find((part) => part.state === "approval-requested")?.approval;
    if (!approval) return this.ask("confirm");
    await this.#chat.addToolApprovalResponse({ id: approval.id, approved: true });
    await this.#send();
  }

  /** The client may have come back by itself. */
  async resume() {
    if (this.status === "") await this.ask("continue");
  }
}

class Mcp extends Conversation {
  /** A call that is cut off waits for its own timeout. */
  losesCallsQuietly = true;
  #run;

  constructor(url, connect) {
    super(url);
    this.connect = connect;
  }

  async #call(name, args) {
    const [client, transport] = this.connect(new URL(`${this.url}/mcp`));
    const errors = [];
    client.onerror = (error) => errors.push(error);
    await client.connect(transport);
    const result = await client.callTool({ name, arguments: args });
    await client.close();
    assert.deepEqual(errors, []);
    this.#take(result);
  }

  #take({ structuredContent, content }) {
    assert.ok(structuredContent, JSON.stringify(content));
    const { run, status, answer, files } = structuredContent;
    const texts = content.filter((block) => block.type === "text").map((block) => block.text);
    this.#run = run;
    this.status = status;
    this.text = [answer ?? "", ...texts].join("\n");
    this.files = (files ?? []).map((file) => file.url);
  }

  async ask(question, { mode, file } = {}) {
    if (file) await this.person.upload(file);
    await this.#call("ask", { question, mode, session: this.session });
    await this.#follow();
  }

  async #follow() {
    while (this.status === "running") await this.#call("look", { run: this.#run });
  }

  /** A model decides nothing but its answer to a question. */
  async decide({ confirm, skip, words }) {
    await this.person.respond("confirm", confirm);
    await this.person.respond("skip", skip);
    await this.#call("say", { run: this.#run, text: words });
    await this.resume();
  }

  async confirm() {
    await this.person.respond("confirm");
    await this.resume();
  }

  async stop() {
    await this.#call("stop", { run: (await this.person.newestRun()).run });
  }

  async resume() {
    await this.#call("look", { run: (await this.person.newestRun()).run });
    await this.#follow();
  }
}

class AgUi extends Conversation {
  #agent;
  #last;

  constructor(url, Agent) {
    super(url);
    this.#agent = new Agent({ url: `${url}/agui`, threadId: this.session });
  }

  async ask(question, { mode, file } = {}) {
    const source = file && { type: "data", value: base64(file.text), mimeType: "text/csv" };
    const content = file ? [{ type: "text", text: question }, { type: "document", source }] : question;
    this.#agent.addMessage({ id: randomUUID(), role: "user", content });
    await this.#run({ forwardedProps: mode ? { djinn: { mode } } : undefined });
  }

  async #run(parameters) {
    this.#last = { runId: randomUUID(), ...parameters };
    await this.resume();
  }

  async resume() {
    let failure = "";
    const onRunErrorEvent = ({ event }) => void (failure = event.message);
    const { result } = await this.#agent.runAgent(this.#last, { onRunErrorEvent });
    if (result?.status === "running") return this.resume();
    const { messages } = this.#agent;
    const texts = messages.filter((message) => message.role === "assistant" && message.content);
    const files = messages.filter((message) => message.role === "activity" && message.activityType === "FILE");
    this.status = failure ? "failed" : (result?.status ?? "paused");
    this.text = [...texts.map((message) => message.content), failure].join("\n").trim();
    this.files = files.map((file) => file.content.url);
  }

  #interrupt(filename) {
    const { pendingInterrupts } = this.#agent;
    const argumentsOf = (interrupt) => interrupt.responseSchema.properties.arguments?.default;
    return pendingInterrupts.find((interrupt) => argumentsOf(interrupt)?.filename === filename);
  }

  #resolve(interrupt, payload) {
    return { interruptId: interrupt.id, status: "resolved", payload };
  }

  decide({ confirm, skip, words }) {
    const question = this.#interrupt(undefined);
    const skipped = { interruptId: this.#interrupt(skip).id, status: "cancelled" };
    const confirmed = this.#resolve(this.#interrupt(confirm), { answer: "confirm" });
    return this.#run({ resume: [confirmed, skipped, this.#resolve(question, { answer: words })] });
  }

  confirm() {
    const [request] = this.#agent.pendingInterrupts;
    return this.#run({ resume: [this.#resolve(request, { answer: "confirm" })] });
  }

  change(changed) {
    const [request] = this.#agent.pendingInterrupts;
    const whole = { ...request.responseSchema.properties.arguments.default, ...changed };
    return this.#run({ resume: [this.#resolve(request, { answer: "modify", arguments: whole })] });
  }
}

/** A client in Python, which `conversations.py` has in another process for all conversations. */
class PythonProcess {
  #process;
  #lines;

  constructor(python, client, url) {
    const program = new URL("conversations.py", import.meta.url).pathname;
    const options = { stdio: ["pipe", "pipe", "inherit"] };
    this.#process = spawn(python, ["-W", "error", program, client, url], options);
    this.#lines = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
    this.#process.unref();
  }

  /** Calls a method, and returns the state after it. */
  async call(name, args) {
    this.#process.stdin.write(`${JSON.stringify({ name, ...args })}\n`);
    const { value, done } = await this.#lines.next();
    assert.ok(!done, "the process ended");
    const { error, ...state } = JSON.parse(value);
    assert.equal(error, undefined);
    return state;
  }
}

class Python extends Conversation {
  #process;

  constructor(url, client, process) {
    super(url);
    this.client = client;
    this.#process = process;
    this.keepsVoidText = client === "chat";
    if (client !== "mcp") this.change = (changed) => this.ask(JSON.stringify(changed));
    this.opened = process.call("open", { session: this.session });
  }

  async #call(name, args) {
    await this.opened;
    const state = await this.#process.call(name, args);
    Object.assign(this, state, { files: state.files ?? linksOf(state.text) });
  }

  async ask(question, { mode, file } = {}) {
    if (file && this.client === "mcp") await this.person.upload(file);
    await this.#call("ask", { question, mode, file: file && { name: file.name, uri: dataUri(file) } });
  }

  async decide({ confirm, skip, words }) {
    await this.person.respond("confirm", confirm);
    await this.person.respond("skip", skip);
    await this.#call("say", { text: words });
  }

  async confirm() {
    if (this.client !== "mcp") return this.ask("confirm");
    await this.person.respond("confirm");
    await this.resume();
  }

  async resume() {
    await this.#call("resume", this.client === "mcp" ? { run: (await this.person.newestRun()).run } : {});
  }
}

/** Each client by its name in the matrix, with a function that opens a conversation. */
export function allClients(python) {
  const inPython = (client) => {
    const processes = new Map();
    return (url) => {
      if (!processes.has(url)) processes.set(url, new PythonProcess(python, client, url));
      return new Python(url, client, processes.get(url));
    };
  };
  const clients = {
    "Chat Completions, Node.js": (url) => new ChatCompletions(url),
    "Responses, Node.js": (url) => new Responses(url),
    "AI SDK, default": (url) => new AiSdk(url, "default"),
    "AI SDK, reconnecting": (url) => new AiSdk(url, "reconnecting"),
    "Chat Completions, Python": inPython("chat"),
    "Responses, Python": inPython("responses"),
    "MCP, Python": inPython("mcp"),
  };
  for (const [name, connect] of Object.entries(mcpClients)) clients[`MCP, ${name}`] = (url) => new Mcp(url, connect);
  for (const [name, Agent] of Object.entries(agUiClients)) clients[`AG-UI, ${name}`] = (url) => new AgUi(url, Agent);
  return clients;
}
