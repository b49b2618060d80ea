// A server between the browser and `cargo dev`, which answers for one session, whose run it makes up.

import { request as httpRequest } from "node:http";
import { pipeline } from "node:stream";
import { LocalServer } from "./local_server.mjs";

export const SESSION = "5".repeat(32);
export const RUN = `run_${"7".repeat(32)}`;
export const START = Date.now() - 3_600_000;
export const USAGE = { input_tokens: 100, output_tokens: 20, cached_tokens: 0, took_ms: 100 };

export const frame = (name, data, place = 0) => `id: ${RUN}:${place}\nevent: ${name}\ndata:${JSON.stringify(data)}\n\n`;
export const entry = (type, id, more) => frame(type, { id, at_ms: START, type, ...more });
export const started = entry("run.started", "start", { session: SESSION, request: "r1", question: "How fast?", mode: "react" });
export const ended = entry("run.ended", "end", {
  status: "finished", answer: "Fast.", files: [], took_ms: 1_000,
  // An amount that is shown only when the end has been read.
  spent: { usage: { ...USAGE, input_tokens: 7_000_000 }, model_calls: 1, tool_calls: 1 },
});

/** A run of 10 000 entries: texts, and calls with their results. */
export function longRun() {
  const entries = [started];
  for (let turn = 1; entries.length < 9_999; turn += 1) {
    const message = `t${turn}`;
    const text = `Paragraph ${turn}: the price of **copper** rose by ${turn % 17} %, and that of zinc fell.`;
    const call = `${message}.c1`;
    const result = { status: "done", text: `${turn} rows`, view: { kind: "text" }, files: [] };
    entries.push(
      entry("message.completed", message, { message, text, usage: USAGE }),
      entry("call.requested", call, { call, tool: "look", arguments: { query: `price ${turn}` }, visible: true }),
      entry("call.completed", `${call}.result`, { call, result }),
    );
  }
  return `${entries.slice(0, 9_999).join("")}${ended}`;
}

/** Answers for the session, and passes everything else on. */
export class Between extends LocalServer {
  /** The response of the run's stream: a text, or a function that writes. */
  events = "";
  isOver = false;
  /** The number of requests. */
  requests = 0;
  #system;

  constructor(system) {
    super();
    this.#system = system;
  }

  answer(request, response) {
    this.requests += 1;
    const { pathname } = new URL(request.url, this.url);
    const json = (body) => response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (pathname === `/sessions/${SESSION}`) {
      const status = this.isOver ? "finished" : "running";
      const turn = { run: RUN, request: "r1", status, started_at_ms: START, question: "How fast?", answer: null, own: true };
      return json({ session: SESSION, title: "How fast?", started_at_ms: START, last_active_at_ms: START, turns: [turn], next: null, files: [], shares: [] });
    }
    if (pathname === `/runs/${RUN}`) return json({ run: RUN, status: "running", mode: "react", session: SESSION, request: "r1", started_at_ms: START, ended_at_ms: null });
    if (pathname === `/runs/${RUN}/events`) {
      response.writeHead(200, { "content-type": "text/event-stream", "djinn-run-id": RUN });
      if (typeof this.events === "string") return response.end(this.events);
      return this.events(response);
    }
    const onward = httpRequest(`${this.#system.url}${request.url}`, { method: request.method, headers: request.headers }, (answer) => {
      if (response.destroyed) return answer.destroy();
      response.writeHead(answer.statusCode, answer.headers);
      // A response that breaks off does so for the browser, too.
      pipeline(answer, response, () => undefined);
    });
    onward.on("error", () => response.destroy());
    request.pipe(onward);
  }
}
