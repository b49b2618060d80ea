// The stories of Vercel's AI SDK: `Chat`, the state behind `useChat`, with its default and its reconnecting transport.

import assert from "node:assert/strict";
import { registerHooks } from "node:module";
import { Chat } from "@ai-sdk/react";
import { DefaultChatTransport } from "ai";

// The transport's package imports its framework for another part, which nothing here uses.
const EMPTY = "data:text/javascript,export const getWorkflowMetadata = () => undefined;";
registerHooks({
  resolve: (name, context, next) => (name === "workflow" ? { url: EMPTY, shortCircuit: true } : next(name, context)),
});
const { WorkflowChatTransport } = await import("@ai-sdk/workflow");

const NOTE = { command: "upload", filename: "note.md", content: "9" };

const transports = {
  default: (url) => new DefaultChatTransport({ api: `${url}/ai/chat` }),
  reconnecting: (url) => new WorkflowChatTransport({ api: `${url}/ai/chat` }),
};

/** Opens a chat, and returns it with the errors that it raises. */
export function open(url, transport, options = {}) {
  const errors = [];
  const chat = new Chat({ transport: transports[transport](url), onError: (error) => errors.push(error), ...options });
  return { chat, errors };
}

const textOf = (message) => message.parts.filter((part) => part.type === "text").map((part) => part.text);
const callOf = (message) => message.parts.find((part) => part.type === "dynamic-tool");

/** Waits until a chat is ready for the next message. */
async function settled(chat) {
  while (chat.status !== "ready" && chat.status !== "error") await new Promise(setImmediate);
}

async function answer(url, transport) {
  const { chat, errors } = open(url, transport);
  await chat.sendMessage({ text: "Which river grew?" });
  assert.deepEqual(errors, []);
  assert.deepEqual(textOf(chat.lastMessage), ["Rhine grew."]);
  assert.equal(chat.lastMessage.metadata.status, "finished");
  await chat.sendMessage({ text: "And the second?" });
  assert.deepEqual(textOf(chat.lastMessage), ["South."]);
  assert.equal(chat.messages.length, 4);
}

async function approve(url, transport, approved) {
  const { chat, errors } = open(url, transport);
  await chat.sendMessage({ text: "Note an eight." });
  const { state, approval } = callOf(chat.lastMessage);
  assert.equal(state, "approval-requested");
  await chat.addToolApprovalResponse({ id: approval.id, approved });
  await chat.sendMessage();
  assert.deepEqual(errors, []);
  assert.equal(chat.messages.length, 2, "the answer continues in its message");
  assert.equal(callOf(chat.lastMessage).state, approved ? "output-available" : "output-denied");
  assert.deepEqual(textOf(chat.lastMessage), ["I note it.", "So be it."]);
  const files = chat.lastMessage.parts.filter((part) => part.type === "data-file");
  assert.deepEqual(files.map((file) => file.data.name), approved ? ["note.md"] : []);
}

const scriptAnswer = (model) => {
  model.on("Which river grew?", "Rhine ", "grew.");
  model.on("And the second?", "South.");
};

const scriptNote = (model) => {
  model.on("Note an eight.", "I note it.", { tool: "file_tool", arguments: NOTE });
  model.on("I note it.", "So be it.");
};

export const stories = {
  answer: { script: scriptAnswer, run: answer },
  approve: { script: scriptNote, run: (url, transport) => approve(url, transport, true) },
  deny: { script: scriptNote, run: (url, transport) => approve(url, transport, false) },
  question: {
    script(model) {
      model.on("How much?", { tool: "ask_user", arguments: { questions: ["Which year?"] } });
      model.on("2024", "Nine.");
    },
    async run(url, transport) {
      const { chat, errors } = open(url, transport);
      await chat.sendMessage({ text: "How much?" });
      assert.match(textOf(chat.lastMessage).join(), /Which year\?/);
      await chat.sendMessage({ text: "2024" });
      assert.deepEqual(errors, []);
      assert.equal(chat.messages.length, 4);
      assert.deepEqual(textOf(chat.lastMessage), ["Nine."]);
    },
  },
  reload: {
    script(model, gate) {
      model.on("How long?", "A whole ", gate, "day.");
    },
    async run(url, transport, gate) {
      const first = open(url, transport, { id: `reload-${transport}` });
      // The reconnecting transport sends no id of its chat, so its session is that of the first message.
      const asked = first.chat.sendMessage({ text: "How long?" });
      while (textOf(first.chat.lastMessage ?? { parts: [] })[0] !== "A whole ") await new Promise(setImmediate);
      const [question] = first.chat.messages;
      await first.chat.stop();
      await asked;
      const session = transport === "default" ? `reload-${transport}` : `chat-${question.id}`;
      const second = open(url, "default", { id: session, messages: [question] });
      const resumed = second.chat.resumeStream();
      while (textOf(second.chat.lastMessage)[0] !== "A whole ") await new Promise(setImmediate);
      gate.open();
      await resumed;
      await settled(second.chat);
      assert.deepEqual(second.errors, []);
      assert.deepEqual(textOf(second.chat.lastMessage), ["A whole day."]);
    },
  },
  error: {
    script: () => undefined,
    async run(url, transport) {
      const { chat, errors } = open(url, transport);
      await chat.sendMessage({ text: "Hello?" }, { body: { mode: "gpt-5" } });
      assert.equal(errors.length, 1);
      assert.match(errors[0].message, /Unknown agent; there are `react`/);
      assert.doesNotMatch(errors[0].message, /\{/, "a sentence, not JSON");
    },
  },
};
