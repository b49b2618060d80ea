// A chat with Djinn on a terminal. It sends files, asks, shows the run while it happens, comes back after a cut, asks
// you what the run asks people, and saves the files that were made. node 22.18 or later runs it as it is, with nothing
// besides.
//
//   node client.ts [--url URL] [--session NAME] [--mode react|plan_solve] [--approve] [--clarify]
//                  [--upload FILE]… [--save FOLDER] [QUESTION]
//
// Without a QUESTION, questions are read from the terminal until it is closed. DJINN_KEY is the API key, if one is needed.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

// What this client reads of the events. docs/events.schema.json has all of it.

type Status = "not_started" | "in_progress" | "completed" | "blocked" | "skipped";
type Step = { id: string; details: string; status: Status; note: string; depends_on: string[] };
type File = { name: string; size: number; internal: boolean; download_url: string };
type Failure = { code: string; detail: string };
type Request = {
  id: string;
  about: string;
  risk: string;
  digest: string;
  tool?: string;
  arguments?: Record<string, unknown>;
  details?: string;
  text?: string;
};
type Result =
  | { status: "done"; text: string; view: { kind: "text" | "file_read" | "plan" | "user_answer" } }
  | { status: "done"; text: string; view: { kind: "file_written"; file: File } }
  | { status: "failed"; reason: string; detail: string }
  | { status: "plan_refused" };
type RunEvent = { id: string; path?: string } & (
  | { type: "run.started"; question: string }
  | { type: "message.completed"; message: string; text: string; reasoning?: string }
  | { type: "message.reset"; message: string; attempt: number; failure: Failure }
  | { type: "call.requested"; call: string; tool: string; arguments: Record<string, unknown> }
  | { type: "call.completed"; call: string; result: Result }
  | { type: "plan.changed"; plan: { title: string; steps: Step[] } }
  | { type: "step.changed"; step: string; status: Status; note?: string }
  | { type: "child.started"; child: string; description: string; agent?: string }
  | { type: "child.ended"; child: string; status: string; text: string }
  | { type: "human.requested"; reasoning: string; requests: Request[] }
  | { type: "human.resolved"; request: string; answer_id?: string; by?: string; answer: string }
  | { type: "user_message.added"; by?: string; text: string }
  | { type: "run.resumed"; epoch: number }
  | { type: "run.ended"; status: string; answer: string; files: File[]; failure?: Failure }
);
type Piece = { message: string; attempt: number; kind: "text" | "reasoning"; offset: number; text: string; path?: string };
type Frame = { cursor?: string; event: string; data: string; retryMs?: number };

// The wire.

class Refused extends Error {
  readonly retryable: boolean;
  readonly after: number;

  constructor(body: { message: string; retryable: boolean; retry_after?: number }) {
    super(body.message);
    this.retryable = body.retryable;
    this.after = body.retry_after ?? 1;
  }
}

class Server {
  private readonly url: string;
  private readonly key?: string;

  constructor(url: string, key?: string) {
    this.url = url;
    this.key = key;
  }

  // Links are whole URLs, and the key goes nowhere but to the server.
  async send(method: string, path: string, headers: Record<string, string> = {}, body?: FormData | string): Promise<Response> {
    const address = new URL(path, this.url);
    const ours = address.origin === new URL(this.url).origin;
    const credentials: Record<string, string> = this.key && ours ? { authorization: `Bearer ${this.key}` } : {};
    const response = await fetch(address, { method, headers: { ...credentials, ...headers }, body });
    if (response.ok) return response;
    const unknown = { message: `HTTP ${response.status}`, retryable: response.status >= 500 };
    throw new Refused(await response.json().catch(() => unknown));
  }

  post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
    return this.send("POST", path, { "content-type": "application/json", ...headers }, JSON.stringify(body));
  }

  // The file has the name in the answer, which may be another than its own.
  async upload(session: string, path: string): Promise<string> {
    const form = new FormData();
    form.append("requestId", session);
    form.append("file", new Blob([readFileSync(path)]), basename(path));
    const response = await this.send("POST", "/v1/file_tool/upload_file_data", {}, form);
    return (await response.json()).fileName;
  }

  async download(file: File, folder: string): Promise<string> {
    const response = await this.send("GET", file.download_url);
    mkdirSync(folder, { recursive: true });
    const path = join(folder, basename(file.name));
    writeFileSync(path, new Uint8Array(await response.arrayBuffer()));
    return path;
  }
}

async function* frames(body: ReadableStream<Uint8Array>): AsyncGenerator<Frame> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = "";
  let frame: Frame = { event: "message", data: "" };
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

// The screen. It only ever writes at its end, so it serves a pipe as well as a terminal.

const MARKS: Record<Status, string> = { not_started: " ", in_progress: ">", completed: "x", blocked: "!", skipped: "-" };

class Screen {
  // What is there of each message that is being written, by child, message and kind.
  private drafts = new Map<string, { attempt: number; bytes: Buffer; shown: number }>();
  private steps: Step[] = [];
  private open = "";

  line(text: string, child?: string): void {
    this.close();
    const lane = child ? `[${child}] ` : "";
    for (const line of text.split("\n")) process.stdout.write(`${lane}${line}\n`);
  }

  close(): void {
    if (this.open) process.stdout.write("\n");
    this.open = "";
  }

  // Agents write side by side: the pieces of the run itself are shown as they come, those of a task when they are whole.
  piece(piece: Piece): void {
    const key = [piece.path ?? "", piece.message, piece.kind].join(" ");
    let draft = this.drafts.get(key);
    if (!draft || piece.attempt > draft.attempt) {
      draft = { attempt: piece.attempt, bytes: Buffer.alloc(0), shown: 0 };
      this.drafts.set(key, draft);
      if (this.open === key) this.close();
    }
    if (piece.attempt < draft.attempt || piece.offset > draft.bytes.length) return;
    draft.bytes = Buffer.concat([draft.bytes.subarray(0, piece.offset), Buffer.from(piece.text)]);
    if (piece.path || draft.bytes.length <= draft.shown) return;
    if (this.open !== key) {
      this.close();
      if (piece.kind === "reasoning" && draft.shown === 0) this.line("(thinks)");
    }
    this.open = key;
    process.stdout.write(draft.bytes.subarray(draft.shown));
    draft.shown = draft.bytes.length;
  }

  // The whole message is shown where its pieces are not all of it.
  private message(event: RunEvent & { type: "message.completed" }): void {
    for (const kind of ["reasoning", "text"] as const) {
      const key = [event.path ?? "", event.message, kind].join(" ");
      const draft = this.drafts.get(key);
      const whole = Buffer.from(event[kind] ?? "");
      const shown = draft ? draft.bytes.subarray(0, draft.shown) : Buffer.alloc(0);
      const goesOn = whole.subarray(0, shown.length).equals(shown);
      if (goesOn && (this.open === key || shown.length === whole.length)) {
        process.stdout.write(whole.subarray(shown.length));
      } else if (whole.length > 0) {
        this.line(kind === "reasoning" ? `(thinks)\n${whole}` : whole.toString(), event.path);
      }
    }
    this.close();
    this.forget(event.path, event.message);
  }

  private forget(child?: string, message?: string): void {
    const prefix = message === undefined ? "" : `${child ?? ""} ${message} `;
    for (const key of this.drafts.keys()) if (key.startsWith(prefix)) this.drafts.delete(key);
  }

  private plan(): void {
    for (const step of this.steps) {
      const after = step.depends_on.length ? ` (after ${step.depends_on.join(", ")})` : "";
      this.line(`  [${MARKS[step.status]}] ${step.id} ${step.details}${after}${step.note ? `: ${step.note}` : ""}`);
    }
  }

  private result(result: Result, child?: string): void {
    if (result.status === "failed") this.line(`  = failed: ${result.reason} ${result.detail}`.trimEnd(), child);
    else if (result.status === "plan_refused") this.line("  = the plan cannot be one", child);
    else if (result.view.kind === "file_written") this.line(`+ ${result.view.file.name}, ${result.view.file.size} bytes`, child);
    else if (result.view.kind === "text") this.line(`  = ${result.text}`, child);
  }

  show(event: RunEvent): void {
    switch (event.type) {
      case "message.completed":
        return this.message(event);
      case "message.reset":
        this.forget(event.path, event.message);
        return this.line(`(begins again: ${event.failure.code})`, event.path);
      case "call.requested":
        return this.line(`* ${event.tool} ${JSON.stringify(event.arguments)}`, event.path);
      case "call.completed":
        return this.result(event.result, event.path);
      case "plan.changed":
        this.steps = event.plan.steps;
        this.line(`Plan: ${event.plan.title}`);
        return this.plan();
      case "step.changed":
        for (const step of this.steps.filter((step) => step.id === event.step)) {
          step.status = event.status;
          step.note = event.note ?? step.note;
        }
        return this.plan();
      case "child.started":
        return this.line(`begins: ${event.description}`, event.child);
      case "child.ended":
        return this.line(`ends: ${event.status}`, event.child);
      case "human.resolved":
        // Guests are not told who answered.
        return this.line(`${event.request}: ${event.answer} (${event.by ?? (event.answer_id ? "somebody" : "nobody in time")})`);
      case "user_message.added":
        return this.line(`${event.by ?? "somebody"}: ${event.text}`);
      case "run.resumed":
        return this.forget();
      case "run.ended":
        return this.line(`(${event.status}${event.failure ? `: ${event.failure.code} ${event.failure.detail}` : ""})`);
    }
  }
}

// The person at the terminal: lines, each taken once.

class Person {
  private lines: string[] = [];
  private readers: ((line?: string) => void)[] = [];
  private gone = false;

  constructor() {
    const input = createInterface({ input: process.stdin });
    input.on("line", (line) => (this.readers.shift() ?? ((text) => this.lines.push(text ?? "")))(line));
    input.on("close", () => {
      this.gone = true;
      for (const reader of this.readers.splice(0)) reader();
    });
  }

  // The next line; undefined if there is none any more, or nobody wants it.
  next(signal?: AbortSignal): Promise<string | undefined> {
    const line = this.lines.shift();
    if (line !== undefined || this.gone || signal?.aborted) return Promise.resolve(line);
    return new Promise((resolve) => {
      this.readers.push(resolve);
      signal?.addEventListener("abort", () => {
        this.readers = this.readers.filter((reader) => reader !== resolve);
        resolve(undefined);
      });
    });
  }
}

// One question, from asking it to the end of its run.

class Chat {
  private readonly server: Server;
  private readonly screen: Screen;
  private readonly person: Person;
  private run?: string;
  private cursor?: string;
  private seen = new Set<string>();
  private asked = new Map<string, AbortController>();
  private answers: Promise<void> = Promise.resolve();
  private answered = signal();

  constructor(server: Server, screen: Screen, person: Person) {
    this.server = server;
    this.screen = screen;
    this.person = person;
  }

  // Follows the run across all cuts, to its last event.
  async ask(question: object): Promise<RunEvent & { type: "run.ended" }> {
    for (let failures = 0; ; ) {
      try {
        const response = await this.open(question);
        this.run = response.headers.get("djinn-run-id") ?? this.run;
        let retryMs = 0;
        for await (const frame of frames(response.body!)) {
          failures = 0;
          retryMs = frame.retryMs ?? 0;
          this.cursor = frame.cursor ?? this.cursor;
          const event = this.take(frame);
          if (event?.type === "run.ended") return event;
        }
        this.screen.line("(the stream ended, and is taken up again)");
        // While a person thinks or a provider is down there is nothing to see.
        await Promise.race([this.answered.given, sleep(retryMs)]);
        this.answered = signal();
      } catch (error) {
        if (error instanceof Refused && !error.retryable) throw error;
        this.screen.line(`(${error instanceof Error ? error.message : error}; tries again)`);
        await sleep(Math.min(30, error instanceof Refused ? error.after : 2 ** failures) * 1000);
        failures += 1;
      }
    }
  }

  private open(question: object): Promise<Response> {
    const headers: Record<string, string> = { accept: "text/event-stream" };
    if (this.cursor) headers["last-event-id"] = this.cursor;
    if (this.run) return this.server.send("GET", `/runs/${this.run}/events`, headers);
    return this.server.post("/runs", question, headers);
  }

  // Shows a frame. Returns its event, if it is one that was not there before.
  private take(frame: Frame): RunEvent | undefined {
    const data = JSON.parse(frame.data);
    if (frame.event === "preview") this.screen.piece(data);
    // Only what is kept has an id.
    if (data.id === undefined || this.seen.has(data.id)) return undefined;
    this.seen.add(data.id);
    this.screen.show(data);
    if (data.type === "human.requested") data.requests.forEach((request: Request) => this.bring(request));
    if (data.type === "human.resolved") {
      this.asked.get(data.request)?.abort();
      this.asked.delete(data.request);
    }
    return data;
  }

  // Asks the person, one thing after the other.
  private bring(request: Request): void {
    const withdrawn = new AbortController();
    this.asked.set(request.id, withdrawn);
    this.answers = this.answers.then(() => this.decide(request, withdrawn.signal));
  }

  private async decide(request: Request, withdrawn: AbortSignal): Promise<void> {
    if (withdrawn.aborted) return;
    const clarifies = request.tool === "ask_user";
    const about = JSON.stringify(request.arguments ?? request.text ?? request.details);
    const ways = "yes, skip, stop, {other arguments}, or words";
    if (clarifies) this.screen.line((request.arguments?.questions as string[]).map((asked) => `? ${asked}`).join("\n"));
    else this.screen.line(`? ${request.about} ${request.tool ?? ""} ${about}, risk ${request.risk}: ${ways}`);
    for (;;) {
      const words = (await this.person.next(withdrawn))?.trim();
      if (words === undefined) return;
      const answer: Record<string, unknown> = { feedbackId: request.id, digest: request.digest, feedback: words };
      try {
        if (!clarifies && words === "yes") answer.feedback = "confirm";
        if (!clarifies && words.startsWith("{")) Object.assign(answer, { feedback: "modify", parameters: JSON.parse(words) });
        await this.server.post(`/api/feedback/${this.run}`, answer);
        this.answered.give();
        return;
      } catch (error) {
        this.screen.line(`(${error instanceof Error ? error.message : error}; say it again)`);
      }
    }
  }
}

function signal(): { given: Promise<void>; give: () => void } {
  let give = () => {};
  const given = new Promise<void>((resolve) => (give = resolve));
  return { given, give };
}

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

async function main(): Promise<boolean> {
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
  for (let finished = true; ; ) {
    const question = questions ? questions.shift() : await person.next();
    if (question === undefined) return finished;
    const end = await new Chat(server, screen, person).ask({
      question,
      mode: values.mode,
      session_id: values.session,
      request_id: crypto.randomUUID(),
      // More than the deployment itself asks people about; it may ask without.
      human_feedback: { enabled: values.approve, clarify: values.clarify },
    });
    finished = end.status === "finished";
    for (const file of values.save ? end.files : []) screen.line(`saved ${await server.download(file, values.save!)}`);
  }
}

main().then(
  (finished) => process.exit(finished ? 0 : 1),
  (error) => {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  },
);
