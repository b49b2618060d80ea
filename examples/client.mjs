// @ts-check
// A terminal chat with Djinn. The client uploads files, asks questions, shows the run as it happens, reconnects after an
// interruption, passes the run's requests on to you, and saves the created files. Runs with Node.js 20 or later, without
// packages or a build step.
//
//   node client.mjs [--url URL] [--session NAME] [--mode react|plan_solve] [--approve] [--clarify]
//                   [--upload FILE]… [--save FOLDER] [QUESTION]
//
// Without a QUESTION, questions are read from the terminal until it is closed. DJINN_KEY is the API key, if one is needed.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

// The fields of the events that this client reads. docs/events.schema.json has all fields.

/** @typedef {"not_started" | "in_progress" | "completed" | "blocked" | "skipped"} Status */
/** @typedef {{ id: string, details: string, status: Status, note: string, depends_on: string[] }} Step */
/** @typedef {{ name: string, size: number, internal: boolean, download_url: string }} File */
/** @typedef {{ code: string, detail: string }} Failure */
/**
 * @typedef {{
 *   id: string,
 *   about: string,
 *   risk: string,
 *   digest: string,
 *   tool?: string,
 *   arguments?: Record<string, unknown>,
 *   details?: string,
 *   text?: string,
 * }} Request
 */
/**
 * @typedef {(
 *   | { status: "done", text: string, view: { kind: "text" | "file_read" | "plan" | "user_answer" } }
 *   | { status: "done", text: string, view: { kind: "file_written", file: File } }
 *   | { status: "failed", reason: string, detail: string }
 *   | { status: "plan_refused" }
 * )} Result
 */
/**
 * @typedef {{ id: string, path?: string } & (
 *   | { type: "run.started", question: string }
 *   | { type: "message.completed", message: string, text: string, reasoning?: string }
 *   | { type: "message.reset", message: string, reason: "failure" | "review", attempt?: number, failure?: Failure }
 *   | { type: "review.completed", round: number, accepted: boolean, problems: string[], missing: string[], failure?: Failure }
 *   | { type: "call.requested", call: string, tool: string, arguments: Record<string, unknown> }
 *   | { type: "call.completed", call: string, result: Result }
 *   | { type: "plan.changed", plan: { title: string, steps: Step[] } }
 *   | { type: "step.changed", step: string, status: Status, note?: string }
 *   | { type: "child.started", child: string, description: string, agent?: string }
 *   | { type: "child.ended", child: string, status: string, text: string }
 *   | { type: "human.requested", reasoning: string, requests: Request[] }
 *   | { type: "human.resolved", request: string, response_id?: string, by?: string, response: string }
 *   | { type: "user_message.added", by?: string, text: string }
 *   | { type: "run.resumed", epoch: number }
 *   | { type: "run.ended", status: string, answer: string, files: File[], failure?: Failure }
 * )} RunEvent
 */
/** @typedef {"text" | "reasoning"} PieceKind */
/** @typedef {{ message: string, attempt: number, kind: PieceKind, offset: number, text: string, path?: string }} Piece */
/** @typedef {{ cursor?: string, event: string, data: string, retryMs?: number }} Frame */

// The connection.

class Refused extends Error {
  /** @param {{ message: string, retryable: boolean, retry_after?: number }} body */
  constructor(body) {
    super(body.message);
    this.retryable = body.retryable;
    this.after = body.retry_after ?? 1;
  }
}

class Server {
  #url;
  #key;

  /**
   * @param {string} url
   * @param {string} [key]
   */
  constructor(url, key) {
    this.#url = url;
    this.#key = key;
  }

  /**
   * Sends a request. The path may be a complete URL; only the server itself receives the key.
   * @param {string} method
   * @param {string} path
   * @param {Record<string, string>} [headers]
   * @param {FormData | string} [body]
   */
  async send(method, path, headers = {}, body) {
    const address = new URL(path, this.#url);
    const isOurs = address.origin === new URL(this.#url).origin;
    /** @type {Record<string, string>} */
    const credentials = this.#key && isOurs ? { authorization: `Bearer ${this.#key}` } : {};
    const response = await fetch(address, { method, headers: { ...credentials, ...headers }, body });
    if (response.ok) return response;
    const unknown = { message: `HTTP ${response.status}`, retryable: response.status >= 500 };
    throw new Refused(await response.json().catch(() => unknown));
  }

  /**
   * @param {string} path
   * @param {object} body
   * @param {Record<string, string>} [headers]
   */
  post(path, body, headers = {}) {
    return this.send("POST", path, { "content-type": "application/json", ...headers }, JSON.stringify(body));
  }

  /**
   * Uploads a file. Returns the stored name, which may differ from the name of the file.
   * @param {string} session
   * @param {string} path
   * @returns {Promise<string>}
   */
  async upload(session, path) {
    const form = new FormData();
    form.append("file", new Blob([readFileSync(path)]), basename(path));
    const response = await this.send("POST", `/sessions/${session}/files`, {}, form);
    return (await response.json()).file.name;
  }

  /**
   * Saves a file. Returns its path.
   * @param {File} file
   * @param {string} folder
   */
  async download(file, folder) {
    const response = await this.send("GET", file.download_url);
    mkdirSync(folder, { recursive: true });
    const path = join(folder, basename(file.name));
    writeFileSync(path, new Uint8Array(await response.arrayBuffer()));
    return path;
  }
}

/**
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<Frame>}
 */
async function* frames(body) {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = "";
  /** @type {Frame} */
  let frame = { event: "message", data: "" };
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines.map((line) => line.replace(/\r$/, ""))) {
      if (line === "") {
        if (frame.data !== "") yield frame;
        frame = { event: "message", data: "" };
      } else if (line.startsWith("id:")) frame.cursor = line.slice(3).trim();
      else if (line.startsWith("event:")) frame.event = line.slice(6).trim();
      else if (line.startsWith("retry:")) frame.retryMs = Number(line.slice(6));
      else if (line.startsWith("data:")) frame.data += line.slice(5).trim();
    }
  }
}

// The screen. It only appends, so a pipe works as well as a terminal.

/** @type {Record<Status, string>} */
const MARKS = { not_started: " ", in_progress: ">", completed: "x", blocked: "!", skipped: "-" };

class Screen {
  /**
   * The pieces of each unfinished message, by child, message and kind.
   * @type {Map<string, { attempt: number, bytes: Buffer, shown: number }>}
   */
  #drafts = new Map();
  /** @type {Step[]} */
  #steps = [];
  #open = "";

  /**
   * @param {string} text
   * @param {string} [child]
   */
  line(text, child) {
    this.#close();
    const lane = child ? `[${child}] ` : "";
    for (const line of text.split("\n")) process.stdout.write(`${lane}${line}\n`);
  }

  #close() {
    if (this.#open) process.stdout.write("\n");
    this.#open = "";
  }

  /**
   * Adds a piece of a message. Agents write in parallel: pieces of the run itself are shown at once, the messages of
   * tasks when complete.
   * @param {Piece} piece
   */
  piece(piece) {
    const key = [piece.path ?? "", piece.message, piece.kind].join(" ");
    let draft = this.#drafts.get(key);
    if (!draft || piece.attempt > draft.attempt) {
      draft = { attempt: piece.attempt, bytes: Buffer.alloc(0), shown: 0 };
      this.#drafts.set(key, draft);
      if (this.#open === key) this.#close();
    }
    if (piece.attempt < draft.attempt || piece.offset > draft.bytes.length) return;
    draft.bytes = Buffer.concat([draft.bytes.subarray(0, piece.offset), Buffer.from(piece.text)]);
    if (piece.path || draft.bytes.length <= draft.shown) return;
    if (this.#open !== key) {
      this.#close();
      if (piece.kind === "reasoning" && draft.shown === 0) this.line("(thinks)");
    }
    this.#open = key;
    process.stdout.write(draft.bytes.subarray(draft.shown));
    draft.shown = draft.bytes.length;
  }

  /**
   * Shows the complete message if the pieces are incomplete.
   * @param {RunEvent & { type: "message.completed" }} event
   */
  #message(event) {
    for (const kind of /** @type {PieceKind[]} */ (["reasoning", "text"])) {
      const key = [event.path ?? "", event.message, kind].join(" ");
      const draft = this.#drafts.get(key);
      const whole = Buffer.from(event[kind] ?? "");
      const shown = draft ? draft.bytes.subarray(0, draft.shown) : Buffer.alloc(0);
      const hasPrefix = whole.subarray(0, shown.length).equals(shown);
      if (hasPrefix && (this.#open === key || shown.length === whole.length)) {
        process.stdout.write(whole.subarray(shown.length));
      } else if (whole.length > 0) {
        this.line(kind === "reasoning" ? `(thinks)\n${whole}` : whole.toString(), event.path);
      }
    }
    this.#close();
    this.#forget(event.path, event.message);
  }

  /**
   * @param {string} [child]
   * @param {string} [message]
   */
  #forget(child, message) {
    const prefix = message === undefined ? "" : `${child ?? ""} ${message} `;
    for (const key of this.#drafts.keys()) if (key.startsWith(prefix)) this.#drafts.delete(key);
  }

  #plan() {
    for (const step of this.#steps) {
      const after = step.depends_on.length ? ` (after ${step.depends_on.join(", ")})` : "";
      this.line(`  [${MARKS[step.status]}] ${step.id} ${step.details}${after}${step.note ? `: ${step.note}` : ""}`);
    }
  }

  /**
   * @param {Result} result
   * @param {string} [child]
   */
  #result(result, child) {
    if (result.status === "failed") this.line(`  = failed: ${result.reason} ${result.detail}`.trimEnd(), child);
    else if (result.status === "plan_refused") this.line("  = the plan cannot be one", child);
    else if (result.view.kind === "file_written") this.line(`+ ${result.view.file.name}, ${result.view.file.size} bytes`, child);
    else if (result.view.kind === "text") this.line(`  = ${result.text}`, child);
  }

  /** @param {RunEvent} event */
  show(event) {
    switch (event.type) {
      case "message.completed":
        return this.#message(event);
      case "message.reset":
        if (event.reason === "review")
          return this.line("(the reviewer did not accept this answer; another one follows)", event.path);
        this.#forget(event.path, event.message);
        return this.line(`(begins again: ${event.failure?.code})`, event.path);
      case "review.completed": {
        const verdict = event.accepted ? "accepted" : event.failure ? "not judged" : "not accepted";
        this.line(`review ${event.round}: ${verdict}`, event.path);
        for (const problem of [...event.problems, ...event.missing]) this.line(`  - ${problem}`, event.path);
        return;
      }
      case "call.requested":
        return this.line(`* ${event.tool} ${JSON.stringify(event.arguments)}`, event.path);
      case "call.completed":
        return this.#result(event.result, event.path);
      case "plan.changed":
        this.#steps = event.plan.steps;
        this.line(`Plan: ${event.plan.title}`);
        return this.#plan();
      case "step.changed":
        for (const step of this.#steps.filter((step) => step.id === event.step)) {
          step.status = event.status;
          step.note = event.note ?? step.note;
        }
        return this.#plan();
      case "child.started":
        return this.line(`begins: ${event.description}`, event.child);
      case "child.ended":
        return this.line(`ends: ${event.status}`, event.child);
      case "human.resolved":
        // Guests do not receive the name.
        return this.line(`${event.request}: ${event.response} (${event.by ?? (event.response_id ? "somebody" : "no one in time")})`);
      case "user_message.added":
        return this.line(`${event.by ?? "somebody"}: ${event.text}`);
      case "run.resumed":
        return this.#forget();
      case "run.ended":
        return this.line(`(${event.status}${event.failure ? `: ${event.failure.code} ${event.failure.detail}` : ""})`);
    }
  }
}

// The user at the terminal: each line is read once.

class Person {
  /** @type {string[]} */
  #lines = [];
  /** @type {((line?: string) => void)[]} */
  #readers = [];
  #isGone = false;

  constructor() {
    const input = createInterface({ input: process.stdin });
    input.on("line", (line) => {
      const reader = this.#readers.shift();
      if (reader) reader(line);
      else this.#lines.push(line);
    });
    input.on("close", () => {
      this.#isGone = true;
      for (const reader of this.#readers.splice(0)) reader();
    });
  }

  /**
   * Returns the next line; undefined at the end of the input, or after an abort.
   * @param {AbortSignal} [signal]
   * @returns {Promise<string | undefined>}
   */
  next(signal) {
    const line = this.#lines.shift();
    if (line !== undefined || this.#isGone || signal?.aborted) return Promise.resolve(line);
    return new Promise((resolve) => {
      this.#readers.push(resolve);
      signal?.addEventListener("abort", () => {
        this.#readers = this.#readers.filter((reader) => reader !== resolve);
        resolve(undefined);
      });
    });
  }
}

// One question, to the end of its run.

class Chat {
  #server;
  #screen;
  #person;
  /** @type {string | undefined} */
  #run;
  /** @type {string | undefined} */
  #cursor;
  /** @type {Set<string>} */
  #seen = new Set();
  /** @type {Map<string, AbortController>} */
  #pending = new Map();
  /** @type {Promise<void>} */
  #responses = Promise.resolve();
  #response = signal();

  /**
   * @param {Server} server
   * @param {Screen} screen
   * @param {Person} person
   */
  constructor(server, screen, person) {
    this.#server = server;
    this.#screen = screen;
    this.#person = person;
  }

  /**
   * Follows the run across all interruptions. Returns its last event.
   * @param {object} question
   * @returns {Promise<RunEvent & { type: "run.ended" }>}
   */
  async ask(question) {
    for (let failures = 0; ; ) {
      try {
        const response = await this.#open(question);
        this.#run = response.headers.get("djinn-run-id") ?? this.#run;
        let retryMs = 0;
        for await (const frame of frames(/** @type {ReadableStream<Uint8Array>} */ (response.body))) {
          failures = 0;
          retryMs = frame.retryMs ?? 0;
          this.#cursor = frame.cursor ?? this.#cursor;
          const event = this.#take(frame);
          if (event?.type === "run.ended") return event;
        }
        this.#screen.line("(the stream ended, and is taken up again)");
        // While the run waits for a user or a provider, there is nothing to see.
        await Promise.race([this.#response.given, sleep(retryMs)]);
        this.#response = signal();
      } catch (error) {
        if (error instanceof Refused && !error.retryable) throw error;
        this.#screen.line(`(${error instanceof Error ? error.message : error}; tries again)`);
        await sleep(Math.min(30, error instanceof Refused ? error.after : 2 ** failures) * 1000);
        failures += 1;
      }
    }
  }

  /** @param {object} question */
  #open(question) {
    /** @type {Record<string, string>} */
    const headers = { accept: "text/event-stream" };
    if (this.#cursor) headers["last-event-id"] = this.#cursor;
    if (this.#run) return this.#server.send("GET", `/runs/${this.#run}/events`, headers);
    return this.#server.post("/runs", question, headers);
  }

  /**
   * Shows a frame. Returns its event, if it is a new one.
   * @param {Frame} frame
   * @returns {RunEvent | undefined}
   */
  #take(frame) {
    const data = JSON.parse(frame.data);
    if (frame.event === "preview") this.#screen.piece(data);
    // Only stored events have an id.
    if (data.id === undefined || this.#seen.has(data.id)) return undefined;
    this.#seen.add(data.id);
    /** @type {RunEvent} */
    const event = data;
    this.#screen.show(event);
    if (event.type === "human.requested") for (const request of event.requests) this.#bring(request);
    if (event.type === "human.resolved") {
      this.#pending.get(event.request)?.abort();
      this.#pending.delete(event.request);
    }
    return event;
  }

  /**
   * Passes a request on to the user, after all earlier ones.
   * @param {Request} request
   */
  #bring(request) {
    const withdrawal = new AbortController();
    this.#pending.set(request.id, withdrawal);
    this.#responses = this.#responses.then(() => this.#decide(request, withdrawal.signal));
  }

  /**
   * @param {Request} request
   * @param {AbortSignal} withdrawal
   */
  async #decide(request, withdrawal) {
    if (withdrawal.aborted) return;
    const clarifies = request.tool === "ask_user";
    const about = JSON.stringify(request.arguments ?? request.text ?? request.details);
    const ways = "yes, skip, stop, {other arguments}, or words";
    const questions = /** @type {string[]} */ (request.arguments?.questions);
    if (clarifies) this.#screen.line(questions.map((question) => `? ${question}`).join("\n"));
    else this.#screen.line(`? ${request.about} ${request.tool ?? ""} ${about}, risk ${request.risk}: ${ways}`);
    for (;;) {
      const words = (await this.#person.next(withdrawal))?.trim();
      if (words === undefined) {
        if (!withdrawal.aborted) this.#screen.line("(the input has ended: respond with another client)");
        return;
      }
      /** @type {Record<string, unknown>} */
      const response = { response: words, digest: request.digest };
      try {
        if (!clarifies && words === "yes") response.response = "confirm";
        if (!clarifies && words.startsWith("{")) Object.assign(response, { response: "modify", parameters: JSON.parse(words) });
        await this.#server.post(`/runs/${this.#run}/requests/${request.id}/response`, response);
        this.#response.give();
        return;
      } catch (error) {
        this.#screen.line(`(${error instanceof Error ? error.message : error}; say it again)`);
      }
    }
  }
}

function signal() {
  let give = () => {};
  /** @type {Promise<void>} */
  const given = new Promise((resolve) => (give = resolve));
  return { given, give };
}

/**
 * @param {number} ms
 * @returns {Promise<void>}
 */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @returns {Promise<boolean>} */
async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      url: { type: "string", default: "http://127.0.0.1:9000" },
      session: { type: "string", default: crypto.randomUUID() },
      mode: { type: "string", default: "react" },
      approve: { type: "boolean", default: false },
      clarify: { type: "boolean", default: false },
      upload: { type: "string", multiple: true, default: [] },
      save: { type: "string" },
    },
  });
  const server = new Server(values.url, process.env.DJINN_KEY);
  const screen = new Screen();
  const person = new Person();
  for (const path of values.upload) screen.line(`sent ${await server.upload(values.session, path)}`);
  const questions = positionals.length > 0 ? [positionals.join(" ")] : undefined;
  for (let isFinished = true; ; ) {
    const question = questions ? questions.shift() : await person.next();
    if (question === undefined) return isFinished;
    const end = await new Chat(server, screen, person).ask({
      question,
      mode: values.mode,
      session_id: values.session,
      request_id: crypto.randomUUID(),
      // In addition to the requests of the deployment, which may also send some without these settings.
      human_requests: { enabled: values.approve, clarify: values.clarify },
    });
    isFinished = end.status === "finished";
    if (values.save) for (const file of end.files) screen.line(`saved ${await server.download(file, values.save)}`);
  }
}

main().then(
  (isFinished) => process.exit(isFinished ? 0 : 1),
  (error) => {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  },
);
