// `cargo dev`, which a story starts, kills and starts again.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";

const target = new URL("../../target/", import.meta.url).pathname;

/** The program of `cargo dev`. */
const PROGRAM = process.env.XTASK_PROGRAM ?? join(target, "debug/xtask");

export class System {
  #home = mkdtempSync(join(target, "page-story-"));
  #port;
  #variables;
  #process;

  /** `files` are files of the configuration folder, by path. */
  static async start(variables, files = {}) {
    const system = new System();
    for (const [path, text] of Object.entries(files)) {
      const file = join(system.#home, "config", path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    system.#variables = variables;
    system.#port = await freePort();
    await system.start();
    return system;
  }

  /** Creates an API key. Returns the key, and its entry for `DJINN_API_KEYS`. */
  static createKey(user = "anna") {
    const output = execFileSync(PROGRAM, ["key", "--tenant", "story", "--user", user], { encoding: "utf8" });
    const [key] = /djinn_[0-9a-f]{64}/.exec(output);
    return { key, entry: JSON.parse(/\{"sha256.*\}/.exec(output)[0]) };
  }

  get url() {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start() {
    const others = Object.entries(process.env).filter(([name]) => !/^(DJINN|OPENAI|ANTHROPIC)_/.test(name));
    const env = {
      ...Object.fromEntries(others),
      DJINN_HOME: this.#home,
      DJINN_PAGE: join(target, "web"),
      ...this.#variables,
    };
    this.#process = spawn(PROGRAM, ["dev", "--port", String(this.#port)], { env, stdio: ["ignore", "pipe", "pipe"] });
    const child = this.#process;
    let output = "";
    await new Promise((resolve, reject) => {
      child.stderr.on("data", (piece) => (output += piece));
      child.stdout.on("data", (piece) => {
        output += piece;
        if (output.includes("Djinn listens on")) resolve();
      });
      child.on("exit", () => reject(new Error(`cargo dev did not start:\n${output}`)));
    });
  }

  /** Ends the process without a warning, as a power cut does. */
  async kill() {
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await ended;
  }

  /** Returns true if any file of the system has the text: its table, its bucket, its log. */
  keeps(text) {
    const files = readdirSync(this.#home, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    return files.some((file) => readFileSync(join(file.parentPath, file.name)).includes(text));
  }

  async close() {
    if (this.#process.exitCode === null && this.#process.signalCode === null) await this.kill();
    rmSync(this.#home, { recursive: true, force: true });
  }
}

async function freePort() {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}
