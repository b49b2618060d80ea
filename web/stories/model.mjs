// A scripted model that speaks OpenAI's stream. Each rule answers one request whose messages contain its text; a gate
// holds a reply until the story opens it.

import { once } from "node:events";
import { LocalServer } from "./local_server.mjs";

export class ScriptedModel extends LocalServer {
  #rules = [];
  /** The replies at work. */
  #open = new Set();
  /** The bodies of all requests. */
  requests = [];

  get url() {
    return `${super.url}/v1`;
  }

  /** Resolves when no reply is at work any more: each has ended, or its reader has gone. */
  async rest() {
    while (this.#open.size > 0) await Promise.race(this.#open);
  }

  /**
   * Adds a rule for one request. `parts` are texts, `{ reasoning }`, `{ tool, arguments }`, `{ tokens }`, gates,
   * `{ cut: true }` for a connection that is lost, and alone `{ status, message }` for an error.
   */
  on(text, ...parts) {
    this.#rules.push({ text, parts });
  }

  async answer(request, response) {
    let body = "";
    for await (const piece of request) body += piece;
    const question = JSON.parse(body);
    this.requests.push(question);
    const reply = once(response, "close").finally(() => this.#open.delete(reply));
    this.#open.add(reply);
    const text = JSON.stringify(question.messages.filter((message) => message.role !== "system"));
    const index = this.#rules.findIndex((rule) => text.includes(rule.text));
    if (index < 0) {
      response.writeHead(400, { "content-type": "application/json" });
      return response.end(JSON.stringify({ error: { message: `no rule for: ${text.slice(-500)}` } }));
    }
    const [rule] = this.#rules.splice(index, 1);
    const { status, message } = rule.parts[0];
    if (status !== undefined) {
      response.writeHead(status, { "content-type": "application/json" });
      return response.end(JSON.stringify({ error: { message } }));
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (delta, finish = null, more = {}) => {
      const choices = [{ index: 0, delta, finish_reason: finish }];
      response.write(`data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", model: "story", choices, ...more })}\n\n`);
    };
    send({ role: "assistant", content: "" });
    let calls = 0;
    let tokens = 100;
    for (const part of rule.parts) {
      if (part instanceof Gate) await part.pass();
      else if (typeof part === "string") send({ content: part });
      else if (part.cut) return response.socket.destroySoon();
      else if (part.reasoning !== undefined) send({ reasoning_content: part.reasoning });
      else if (part.tokens !== undefined) tokens = part.tokens;
      else {
        const call = { index: calls, id: `call_${this.requests.length}_${calls}`, type: "function" };
        send({ tool_calls: [{ ...call, function: { name: part.tool, arguments: JSON.stringify(part.arguments) } }] });
        calls += 1;
      }
    }
    const usage = { prompt_tokens: tokens, completion_tokens: 20, total_tokens: tokens + 20 };
    send({}, calls > 0 ? "tool_calls" : "stop", { usage });
    response.end("data: [DONE]\n\n");
  }
}

/** Holds a reply. */
export class Gate {
  #reach;
  #open;
  /** Resolves when the reply waits here. */
  reached = new Promise((resolve) => (this.#reach = resolve));
  #opened = new Promise((resolve) => (this.#open = resolve));

  pass() {
    this.#reach();
    return this.#opened;
  }

  open() {
    this.#open();
  }
}
