// Connections that are lost after every frame. Each client reconnects by its own means, and ends up with the state of a
// client that never lost one. The stories of the Responses API have their own cuts.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { request as httpRequest } from "node:http";
import { open as openAgent, stateOf, warnings } from "./ag_ui.mjs";
import { open as openChat } from "./ai_sdk.mjs";
import { LocalServer } from "../../web/stories/local_server.mjs";
import { Gate } from "../../web/stories/model.mjs";

/** A server before Djinn, which loses the connection of one stream after a number of frames. */
class CuttingServer extends LocalServer {
  /** The frames of the newest stream so far. */
  frames = 0;
  isCut = false;
  #cutAfter = Infinity;
  #reconnect;
  #djinn;

  constructor(djinn) {
    super();
    this.#djinn = djinn;
  }

  /** Cuts the next stream that has so many frames. `reconnect` is called at the first frame after the cut. */
  cutAfter(frames, reconnect = () => undefined) {
    [this.#cutAfter, this.#reconnect, this.isCut] = [frames, reconnect, false];
  }

  answer(request, response) {
    const onward = httpRequest(`${this.#djinn}${request.url}`, { method: request.method, headers: request.headers }, async (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      this.frames = 0;
      let rest = "";
      for await (const piece of answer) {
        const frames = (rest + piece.toString("latin1")).split("\n\n");
        rest = frames.pop();
        for (const frame of frames) {
          this.frames += 1;
          response.write(`${frame}\n\n`, "latin1");
          if (this.isCut) this.#reconnect();
          else if (this.frames === this.#cutAfter) {
            this.isCut = true;
            answer.destroy();
            return response.socket.destroySoon();
          }
        }
      }
      response.end(rest, "latin1");
    });
    request.pipe(onward);
  }
}

const READ = { tool: "file_tool", arguments: { command: "get", filename: "none.md" } };

function script(model, question, ...more) {
  model.on(question, { reasoning: "Look north." }, "I look.", READ);
  model.on(question, { reasoning: "There it is." }, "North ", ...more, "grew.");
}

/** What a chat shows, without ids and times. */
function partsOf({ lastMessage: { role, parts, metadata } }) {
  const shown = parts.map(({ type, text, state, toolName, input, output, errorText }) => ({ type, text, state, toolName, input, output, errorText }));
  return { role, shown, status: metadata?.status };
}

/** The default transport resumes the run of its chat while it is at work; the other reconnects by itself, at any time. */
export async function cutAiSdk(url, model, transport) {
  const server = await CuttingServer.start(url);
  const reconnects = transport === "reconnecting";
  const cut = async (frames) => {
    const question = `Which gulf of ${transport}, ${frames}?`;
    const gate = new Gate();
    script(model, question, gate);
    const { chat, errors } = openChat(server.url, transport, { id: randomUUID() });
    server.cutAfter(frames, () => gate.open());
    if (reconnects) gate.open();
    // The reconnecting transport writes to the console what it lost.
    let isOver = false;
    const asked = warnings(() => chat.sendMessage({ text: question })).finally(() => (isOver = true));
    const showsHalf = () => chat.lastMessage?.parts.at(-1)?.text === "North ";
    while (!reconnects && !server.isCut && !showsHalf() && !isOver) {
      await Promise.race([asked, new Promise(setImmediate)]);
    }
    const held = server.frames;
    if (!server.isCut) gate.open();
    await asked;
    if (server.isCut && !reconnects) {
      assert.equal(errors.splice(0).length, 1);
      await chat.resumeStream();
    }
    assert.deepEqual(errors, []);
    return { isCut: server.isCut, held, state: partsOf(chat) };
  };
  try {
    const whole = await cut(Infinity);
    assert.equal(whole.state.status, "finished");
    const last = reconnects ? Infinity : whole.held;
    let frames = 1;
    for (; frames <= last; frames += 1) {
      const { isCut, state } = await cut(frames);
      assert.deepEqual(state, whole.state, `cut after ${frames}`);
      if (!isCut) break;
    }
    assert.ok(frames > 10, `${frames} frames`);
  } finally {
    server.close();
  }
}

/** The client sends its request again, with the same id. */
export async function cutAgUi(url, model, Agent, version) {
  const server = await CuttingServer.start(url);
  const [threadId, runId] = [randomUUID(), randomUUID()];
  const question = { id: randomUUID(), role: "user", content: `Which gulf of AG-UI ${version}?` };
  script(model, question.content);
  const open = () => openAgent(server.url, Agent, { threadId, initialMessages: [question] });
  // The client throws a lost connection once more where nobody can catch it.
  const ignore = () => undefined;
  process.on("unhandledRejection", ignore);
  try {
    const whole = open();
    await whole.runAgent({ runId });
    let frames = 1;
    for (; ; frames += 1) {
      server.cutAfter(frames);
      const agent = open();
      await warnings(async () => {
        await agent.runAgent({ runId }).catch(ignore);
        await new Promise(setImmediate);
      });
      if (!server.isCut) break;
      assert.deepEqual(await warnings(() => agent.runAgent({ runId })), []);
      assert.deepEqual(stateOf(agent), stateOf(whole), `cut after ${frames}`);
    }
    assert.ok(frames > 10, `${frames} frames`);
  } finally {
    process.off("unhandledRejection", ignore);
    server.close();
  }
}
