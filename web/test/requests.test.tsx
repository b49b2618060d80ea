// @vitest-environment jsdom
// The cards of requests: what they show of the server's events, and what the reader's decision becomes.

import { act } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Box } from "../src/view/input/Box";
import { addFacts } from "../src/store/request_facts";
import { RequestSlot } from "../src/view/requests/Slot";
import { Tray } from "../src/view/requests/Tray";
import { emptyConversation } from "../src/store/turns";
import { CallView } from "../src/view/talk/CallView";
import { RowMaker } from "../src/view/talk/rows";
import { WorkLine } from "../src/view/talk/WorkLine";
import { loadWords } from "../src/words";
import { rest, runOf, TestPage, turnWith } from "./page";

const ESTIMATE = { tokens: 0, ms: 0, calls: 0, ms_p95: 0, tokens_p95: 0, samples: 0 };

let digests = 0;

/** The events of a run that asks about one subject. */
function asking(request: Record<string, unknown>): readonly Record<string, unknown>[] {
  // Each request has a digest of its own, as what is typed into a card outlives the card.
  digests += 1;
  const whole = { risk: "low", estimate: ESTIMATE, digest: `digest-${digests}`, ...request };
  return [
    { id: "start", at_ms: 1000, type: "run.started", session: "s1", request: "r1", question: "Q", mode: "react" },
    {
      id: "t1.requested",
      at_ms: 1500,
      type: "human.requested",
      group: "t1",
      reasoning: "It may be either.",
      risk: "low",
      estimate: ESTIMATE,
      requests: [whole],
    },
  ];
}

async function show(request: Record<string, unknown>): Promise<TestPage> {
  const page = new TestPage();
  await page.show(<RequestSlot run={runOf(asking(request))} request={String(request.id)} />);
  await rest();
  opened.push(page);
  return page;
}

const opened: TestPage[] = [];
const call = { id: "t1.c1", about: "call", call: "t1.c1" };
const question = (parameters: unknown) => ({ ...call, tool: "ask_user", arguments: parameters, reasons: ["clarification"] });

beforeEach(() => void vi.useFakeTimers());
afterEach(async () => {
  for (const page of opened.splice(0)) await page.close();
  vi.useRealTimers();
});

test("a question of the model takes words, and nothing else", async () => {
  const page = await show(question({ questions: ["Sales or profit?", "Which year?"] }));
  expect(page.text).toContain("The run asks you");
  expect(page.text).toContain("It may be either.");
  expect(page.text).not.toMatch(/risk/i);
  expect(page.text).not.toContain("Asked because");
  expect(page.find<HTMLButtonElement>("Answer").disabled).toBe(true);
  expect(page.all("Allow")).toEqual([]);
  await page.write("Which year?", "  2024\n");
  await page.press("Answer");
  await page.write("Sales or profit?", "Profit");
  await page.press("Answer");
  expect(page.calls).toEqual([
    ["respond", "t1.c1", { kind: "say", text: "2. 2024" }],
    ["respond", "t1.c1", { kind: "say", text: "1. Profit\n2. 2024" }],
  ]);
});

test("choices of a question are taken by one press, and another answer replaces them", async () => {
  const choices = ["Copper", { label: "Tin", description: "soft" }, 7];
  const page = await show(question({ questions: [{ question: "Which metal?", options: choices }] }));
  await page.press("Tin");
  await page.press("Answer");
  await page.write("Which metal?", "Lead");
  expect(page.find("Tin").getAttribute("aria-pressed")).toBe("false");
  await page.press("Answer");
  expect(page.all("7")).toEqual([]);
  const texts = page.calls.map(([, , decision]) => (decision as { text: string }).text);
  expect(texts).toEqual(["Tin", "Lead"]);
});

test.each([
  ["the owner sees whose turn it is", { isOwner: true, user: "bob" }, "It is the turn of bob, who asked.", 1],
  ["a guest who may ask sees that it is not theirs", { isOwner: false, user: null }, "Only the user who asked decides this.", 0],
])("of another user's run, %s", async (_name, { isOwner, user }, sentence, stops) => {
  const run = runOf(asking(question({ questions: [{ question: "Which metal?", choices: ["gold", "zinc"] }] })));
  const turns = [{ ...turnWith(run), isOwn: false, user }];
  const page = new TestPage({ isOwner, canWrite: true, turns }, "en", "And tea?");
  opened.push(page);
  await page.show(
    <>
      <RequestSlot run={run} request="t1.c1" />
      <Box />
    </>,
  );
  await rest();
  expect(page.text).toContain(sentence);
  expect(page.find<HTMLButtonElement>("gold").matches(":disabled")).toBe(true);
  expect(page.all("Continue without an answer")).toEqual([]);
  // The draft stays, and is sent when the run has ended.
  expect(page.find<HTMLTextAreaElement>("Your question").value).toBe("And tea?");
  expect(page.find<HTMLButtonElement>("Send").disabled).toBe(true);
  expect(page.text).toContain(`${user ?? "Another user"} asked the newest question.`);
  expect(page.all("Stop")).toHaveLength(stops);
  const ended = { ...turns[0], status: "finished" as const };
  await page.change({ turns: [ended as never] });
  expect(page.find<HTMLButtonElement>("Send").disabled).toBe(false);
});

test("a call that waits for a key has one field for it, whose text no other card keeps", async () => {
  const key = { name: "CRM", origin: "https://crm.example.com" };
  const asked = (code: string) => ({
    ...call,
    about: "call_interrupt",
    tool: "crm",
    arguments: { query: "a" },
    interrupt: { code, message: "The tool `crm` needs your own key.", key },
  });
  const request = asked("key_missing");
  const page = await show(request);
  expect(page.text).toContain("crm needs a key of yours");
  const label = "Your key CRM for https://crm.example.com";
  expect(page.find<HTMLInputElement>(label).type).toBe("password");
  expect(page.element.querySelectorAll("input, textarea")).toHaveLength(1);
  expect(page.text).not.toContain("rejected");
  expect(page.find<HTMLButtonElement>("Store the key and try again").disabled).toBe(true);
  await page.write(label, " secret ");
  await page.press("Store the key and try again");
  await page.press("Try again as it is");
  expect(page.calls).toEqual([
    ["setKey", "t1.c1", key, "secret"],
    ["respond", "t1.c1", { kind: "confirm" }],
  ]);
  await page.close();
  const again = await show(request);
  expect(again.find<HTMLInputElement>(label).value).toBe("");
  const rejected = await show(asked("key_rejected"));
  expect(rejected.text).toContain("https://crm.example.com rejected the stored key. Enter another one.");
});

test("a call that waits for its user is shown by its card alone, and a question never as work", () => {
  const asks = (tool: string) => [
    { id: "c", at_ms: 1400, type: "call.requested", call: "t1.c1", tool, arguments: {}, visible: true },
    ...asking({ ...call, tool, arguments: {} }).slice(1),
  ];
  const start = asking({})[0];
  const resolved = { id: "r", at_ms: 2000, type: "human.resolved", request: "t1.c1", digest: "d", response: "say", text: "x" };
  const kinds = (tool: string, ...more: object[]) => {
    const run = runOf([start, ...asks(tool), ...more]);
    return new RowMaker().rowsOf({ ...emptyConversation("s1"), turns: [turnWith(run)] }).map((row) => row.kind);
  };
  expect(kinds("look")).toEqual(["question", "request", "end"]);
  expect(kinds("look", resolved)).toEqual(["question", "work", "request", "end"]);
  expect(kinds("ask_user")).toEqual(["question", "request", "end"]);
  expect(kinds("ask_user", resolved)).toEqual(["question", "request", "end"]);
});

test.each([
  [{ questions: "Which metal?" }, "Which metal?"],
  [{ question: "Which metal?" }, "Which metal?"],
  [{ questions: [{ question: "Which metal?", options: [7] }] }, "Which metal?"],
  [{ ask: "Which metal?" }, '{\n  "ask": "Which metal?"\n}'],
  [{ questions: [7] }, "7"],
])("a question in the form %j is shown", async (parameters, expected) => {
  const page = await show(question(parameters));
  expect(page.element.querySelector("li")?.textContent).toBe(expected);
});

test("a model continues without an answer", async () => {
  const page = await show(question({ questions: ["Which one?"] }));
  await page.press("Continue without an answer");
  expect(page.calls).toEqual([["respond", "t1.c1", { kind: "skip" }]]);
});

test("a card takes no click before it has rested", async () => {
  const page = new TestPage();
  opened.push(page);
  await page.show(<RequestSlot run={runOf(asking(question({ questions: ["Which one?"] })))} request="t1.c1" />);
  const skip = page.find("Continue without an answer");
  await page.press("Continue without an answer");
  expect(page.calls).toEqual([]);
  expect(skip.getAttribute("aria-disabled")).toBe("true");
  await rest();
  expect(skip.getAttribute("aria-disabled")).toBe("false");
  await page.press("Continue without an answer");
  expect(page.calls).toHaveLength(1);
});

test("arguments are changed in a form or as JSON, and all of them are sent", async () => {
  const original = { command: "get", filename: "sales.csv", lines: 3, columns: ["year"] };
  const page = await show({ ...call, tool: "file_tool", arguments: original, risk: "high", reasons: ["risk", "untrusted"] });
  expect(page.text).toContain("High risk");
  expect(page.text).toContain("Asked because it may be risky, and it sends data out after reading text of unknown authors");
  await page.write("File name", "costs.csv");
  await page.write("Lines", "many");
  expect(page.find<HTMLButtonElement>("Allow with changes").disabled).toBe(true);
  await page.write("Lines", "5");
  await page.press("JSON");
  const json = page.find<HTMLTextAreaElement>("Arguments");
  expect(JSON.parse(json.value)).toEqual({ ...original, filename: "costs.csv", lines: 5 });
  await page.write("Arguments", "{");
  expect(page.text).toContain("This is not a JSON object.");
  expect(page.find<HTMLButtonElement>("Allow with changes").disabled).toBe(true);
  await page.write("Arguments", '{"command": "get", "filename": "a.csv", "lines": 5, "columns": []}');
  await page.press("Allow with changes");
  const parameters = { command: "get", filename: "a.csv", lines: 5, columns: [] };
  expect(page.calls).toEqual([["respond", "t1.c1", { kind: "modify", parameters }]]);
});

test("an undone change is forgotten, also one that was no value", async () => {
  const page = await show({ ...call, tool: "look", arguments: { lines: 3 } });
  await page.write("Lines", "4");
  await page.write("Lines", "4x");
  await page.press("Undo: Lines");
  expect(page.find<HTMLInputElement>("Lines").value).toBe("3");
  await page.press("Allow");
  expect(page.calls).toEqual([["respond", "t1.c1", { kind: "confirm" }]]);
});

test("the words of the run are not repeated by its card, and those of an agent are shown", async () => {
  for (const [path, isShown] of [[undefined, false], ["s1.1", true]] as const) {
    const [start, requested] = asking({ ...call, path, tool: "look", arguments: {} });
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id: "m", at_ms: 1400, type: "message.completed", message: "t1", text: "It may be either.", usage };
    const page = new TestPage();
    opened.push(page);
    await page.show(<RequestSlot run={runOf([start, message, requested])} request="t1.c1" />);
    expect(page.text.includes("It may be either.")).toBe(isShown);
  }
});

test("a reader of a shared conversation sees a request and cannot decide it", async () => {
  const page = new TestPage({ canWrite: false });
  opened.push(page);
  await page.show(<RequestSlot run={runOf(asking({ ...call, tool: "look", arguments: { name: "a" } }))} request="t1.c1" />);
  expect(page.text).toContain("Only the user who asked decides this.");
  expect(page.all("Allow")).toEqual([]);
  expect(page.element.querySelector("fieldset")?.disabled).toBe(true);
});

test("optional arguments without a value are shown on demand", async () => {
  const properties = { command: { type: "string" }, offset: { type: "integer" }, filename: { type: "string" } };
  const schema = { type: "object", properties, required: ["command"] };
  const page = await show({ ...call, tool: "file_tool", arguments: { command: "get" }, schema });
  expect(page.all("Offset")).toEqual([]);
  await page.press("All arguments");
  await page.write("Offset", "7");
  await page.press("Allow with changes");
  expect(page.calls).toEqual([
    ["respond", "t1.c1", { kind: "modify", parameters: { command: "get", offset: 7 } }],
  ]);
});

test("what was typed is still there when a card is shown again", async () => {
  const request = { ...call, tool: "look", arguments: { name: "a" } };
  const run = runOf(asking(request));
  for (const [before, typed] of [["a", "ab"], ["ab", "abc"]] as const) {
    const page = new TestPage();
    await page.show(<RequestSlot run={run} request="t1.c1" />);
    expect(page.find<HTMLInputElement>("Name").value).toBe(before);
    await page.write("Name", typed);
    await page.close();
  }
});

test("a plan is started with changed steps, and not with an empty one", async () => {
  const original = {
    command: "create",
    title: "Prices",
    steps: ["Gold: its price", "Silver: its price", "Compare"],
    depends_on: [[], [], [1, 2]],
    agents: ["researcher", "researcher", ""],
  };
  const page = await show({ ...call, tool: "planning", arguments: original, reasons: ["plan"] });
  expect(page.text).toContain("Start this plan?");
  await page.write("Step 3", " ");
  expect(page.find<HTMLButtonElement>("Start with changes").disabled).toBe(true);
  await page.write("Step 3", "Compare both in euros");
  await page.press("Remove step: Step 1");
  await page.press("Start with changes");
  const parameters = {
    ...original,
    steps: ["Silver: its price", "Compare both in euros"],
    depends_on: [[], [1]],
    agents: ["researcher", ""],
  };
  expect(page.calls).toEqual([["respond", "t1.c1", { kind: "modify", parameters }]]);
});

test("a plan of steps in another form is shown as it is", async () => {
  const page = await show({ ...call, tool: "planning", arguments: { command: "create", steps: [{ a: 1 }] } });
  expect(page.text).toContain("May the run call planning?");
  await page.press("JSON");
  expect(page.find<HTMLTextAreaElement>("Arguments").value).toContain('"a": 1');
});

test("a result is accepted, replaced, or repeated with words", async () => {
  const request = {
    id: "s1.1.result",
    about: "result_review",
    step: "s1",
    details: "Look at gold",
    text: "It is **60** dollars.\u202e",
    files: ["gold.md"],
    reasons: ["result"],
  };
  const page = await show(request);
  expect(page.text).toContain("Accept this result?");
  expect(page.element.querySelector("strong")?.textContent).toBe("60");
  expect(page.text).toContain("⟨U+202E⟩");
  expect(page.text).toContain("gold.md");
  await page.press("Edit");
  expect(page.text.match(/⟨U\+202E⟩/g)).toHaveLength(1);
  await page.write("Result", "It is 55 euros.");
  await page.press("Accept my text");
  await page.press("Repeat the step with these words");
  await page.write("Your words to the model", "In euros.");
  await page.press("Send");
  expect(page.calls).toEqual([
    ["respond", "s1.1.result", { kind: "modify", parameters: { text: "It is 55 euros." } }],
    ["respond", "s1.1.result", { kind: "say", text: "In euros." }],
  ]);
});

test("a step is started with another text", async () => {
  const page = await show({ id: "steps.s2", about: "step_review", step: "s2", details: "Publish", reasons: ["step"] });
  await page.write("What is to be done", "Post it inside");
  await page.press("Start with changes");
  expect(page.calls).toEqual([["respond", "steps.s2", { kind: "modify", parameters: { details: "Post it inside" } }]]);
});

test("a budget is extended by the offer or less, and not by more or nothing", async () => {
  const page = await show({
    id: "budget.1",
    about: "budget_extension",
    used_up: { code: "tokens_used_up", detail: "1000" },
    offer: { tokens: 1000, micro_usd: 500_000 },
    reasons: ["budget"],
  });
  expect(page.text).toContain("The budget is used up. Extend it?");
  expect(page.text).toMatch(/1000/);
  for (const wrong of ["1001", "-1", "x", "1.5"]) {
    await page.write("Tokens", wrong);
    expect(page.find<HTMLButtonElement>("Extend").disabled, wrong).toBe(true);
    expect(page.text).toContain("Enter at most the offered amount, and more than nothing.");
  }
  await page.write("US dollars", "0");
  await page.write("Tokens", "0");
  expect(page.find<HTMLButtonElement>("Extend").disabled).toBe(true);
  await page.write("Tokens", "400");
  await page.write("US dollars", "0.25");
  await page.press("Extend");
  const parameters = { tokens: 400, micro_usd: 250_000 };
  expect(page.calls).toEqual([["respond", "budget.1", { kind: "modify", parameters }]]);
});

test("interrupted calls and models are tried again", async () => {
  const interrupt = { code: "model_no_balance", message: "Add credit, then continue." };
  const ofCall = await show({ ...call, about: "call_interrupt", tool: "search", arguments: { query: "a" }, interrupt });
  expect(ofCall.text).toContain("search was interrupted. Try again?");
  expect(ofCall.text).toContain("Add credit, then continue.");
  await ofCall.write("Query", "b");
  await ofCall.press("Try again with changes");
  expect(ofCall.calls).toEqual([["respond", "t1.c1", { kind: "modify", parameters: { query: "b" } }]]);
  const ofModel = await show({ id: "t1.interrupt", about: "model_interrupt", message: "t1", interrupt });
  expect(ofModel.text).toContain("The model was interrupted. Try again?");
  expect(ofModel.all("Say something instead")).toEqual([]);
  await ofModel.press("Try again");
  await ofModel.press("Finish now");
  await ofModel.press("Stop the run");
  expect(ofModel.calls.at(-1)).not.toEqual(["stop"]);
  await ofModel.press("Stop it now?");
  expect(ofModel.calls).toEqual([
    ["respond", "t1.interrupt", { kind: "confirm" }],
    ["respond", "t1.interrupt", { kind: "skip" }],
    ["stop"],
  ]);
});

test("the rejection of a response is shown, also of one to all requests of a turn", async () => {
  const page = await show({ ...call, tool: "look", arguments: {} });
  const error = { code: "request_stale", message: "", status: 409, isRetryable: false, requestId: "x1", retryAfterS: null };
  for (const name of ["t1.c1", "t1"]) {
    await page.change({ sendingResponses: new Map([[name, { error: error as never }]]) });
    expect(page.text).toContain("request_stale");
    await page.change({ sendingResponses: new Map([[name, { error: null }]]) });
    expect(page.find<HTMLButtonElement>("Sending").disabled).toBe(true);
  }
});

test("hidden characters in a title and in a message are spelled out", async () => {
  const interrupt = { code: "model_no_balance", message: "a\u200bb" };
  const page = await show({ ...call, about: "call_interrupt", tool: "look\u202e", arguments: {}, interrupt });
  expect(page.text).toContain("⟨U+202E⟩");
  expect(page.text).toContain("⟨U+200B⟩");
});

test.each([
  [{ response: "confirm", by: "you", response_id: "a" }, "Allowed by you"],
  [{ response: "modify", by: "anna", response_id: "a", arguments: {} }, "Allowed with changes by anna"],
  [{ response: "say", by: "you", response_id: "a", text: "In euros." }, "Answered in words by you"],
  [{ response: "skip" }, "Skipped because nobody answered in time"],
  [{ response: "confirm", by: "anna", response_id: "a", via: "link" }, "Allowed by link"],
  [{ response: "say", text: "In euros.", by: "anna", response_id: "a", via: "mcp" }, "Answered in words by a model, over MCP"],
])("a decision becomes one line: %j", async (resolution, expected) => {
  const resolved = { id: "t1.c1.resolved", at_ms: 2000, type: "human.resolved", request: "t1.c1", digest: "d", ...resolution };
  const page = new TestPage();
  opened.push(page);
  const run = runOf([...asking({ ...call, tool: "look", arguments: {} }), resolved]);
  await page.show(<RequestSlot run={run} request="t1.c1" />);
  expect(page.text).toContain(expected);
  if ("text" in resolution) expect(page.text).toContain("In euros.");
  expect(page.element.querySelector("button")).toBeNull();
});

test("calls are decided together, and a question is not", async () => {
  const one = asking({ ...call, tool: "look", arguments: {} });
  const two = (tool: string) => {
    const [, other] = asking({ ...call, id: "t1.c2", call: "t1.c2", tool, arguments: {} });
    return runOf([...one, { ...other, id: "t1.requested.2" }]);
  };
  const page = new TestPage();
  opened.push(page);
  await page.show(<Tray run={two("look")} onShow={() => undefined} />);
  await rest();
  expect(page.text).toContain("2 requests wait for you");
  await page.press("Allow all");
  expect(page.calls).toEqual([["respondGroup", "t1", { kind: "confirm" }]]);
  await page.show(<Tray run={two("ask_user")} onShow={() => undefined} />);
  expect(page.all("Allow all")).toEqual([]);
});

test("calls are allowed together as their cards show them, and not while a text of one would be dropped", async () => {
  const one = asking({ ...call, tool: "file_tool", arguments: { command: "upload", filename: "a.md", content: "A", count: 1 } });
  const [, other] = asking({ ...call, id: "t1.c2", call: "t1.c2", tool: "look", arguments: { place: "here" } });
  const [, third] = asking({ ...call, id: "t2.c1", call: "t2.c1", tool: "look", arguments: {} });
  const run = runOf([...one, { ...other, id: "other" }, { ...third, id: "third", group: "t2" }]);
  const page = new TestPage();
  opened.push(page);
  await page.show(
    <>
      <RequestSlot run={run} request="t1.c1" />
      <RequestSlot run={run} request="t1.c2" />
      <Tray run={run} onShow={() => undefined} />
    </>,
  );
  await rest();
  const allowAll = () => page.find<HTMLButtonElement>("Allow all");
  await page.write("File name", "b.md");
  await page.write("Count", "one");
  expect(allowAll().disabled).toBe(true);
  await page.write("Count", "2");
  await page.press("Say something instead");
  expect(allowAll().disabled).toBe(false);
  await page.write("Your words to the model", "Neither");
  expect(allowAll().disabled).toBe(true);
  await page.press("Back");
  await page.press("Allow all");
  expect(page.calls).toEqual([
    ["respond", "t1.c1", { kind: "modify", parameters: { command: "upload", filename: "b.md", content: "A", count: 2 } }],
    ["respond", "t1.c2", { kind: "confirm" }],
    ["respondGroup", "t2", { kind: "confirm" }],
  ]);
  // What is skipped has no changes.
  await page.press("Skip all");
  expect(page.calls.slice(3)).toEqual(["t1", "t2"].map((group) => ["respondGroup", group, { kind: "skip" }]));
});

test("hidden characters of a long text are spelled out wherever they are", async () => {
  const at = (index: number, text: string) => "x".repeat(index) + text;
  const late = await show({ ...call, tool: "look", arguments: { place: `${at(5_000, "left\u202eright")}${at(9_000, "\u200b")}` } });
  for (const part of ["left⟨U+202E⟩right", "⟨U+200B⟩"]) expect(late.text).toContain(part);
  expect(late.text).not.toContain("more");
  const many = await show({ ...call, tool: "look", arguments: { place: at(100, "ab\u202e").repeat(60) } });
  expect(many.text.split("⟨U+202E⟩")).toHaveLength(51);
  expect(many.text).toContain("and 10 more");
});

test("one request is announced above the box only while its card is out of view", async () => {
  const watched: { report(ratio: number): void }[] = [];
  vi.stubGlobal(
    "IntersectionObserver",
    class {
      constructor(report: (entries: readonly object[]) => void) {
        watched.push({ report: (ratio) => report([{ intersectionRatio: ratio }]) });
      }
      observe(): void {}
      disconnect(): void {}
    },
  );
  const run = runOf(asking({ ...call, tool: "look", arguments: {} }));
  const page = new TestPage();
  opened.push(page);
  await page.show(
    <>
      <RequestSlot run={run} request="t1.c1" />
      <Tray run={run} onShow={() => undefined} />
    </>,
  );
  expect(page.text).toContain("1 request waits for you");
  await act(() => watched[0]?.report(1));
  expect(page.text).not.toContain("1 request waits for you");
  await act(() => watched[0]?.report(0.4));
  expect(page.text).toContain("1 request waits for you");
  vi.unstubAllGlobals();
});

const upload = { command: "upload", filename: "note.md", format: "md", page_size: 2 };
const uploadSchema = {
  type: "object",
  properties: {
    command: { enum: ["get", "upload"] },
    filename: { type: "string" },
    format: { const: "md" },
    offset: { type: "integer" },
    page_size: { type: "integer" },
  },
  required: ["command", "filename", "format"],
};

test.each([
  ["en", ["File name", "Page size"], "All arguments", ["Command", "File name", "Format", "Offset", "Page size"]],
  ["zh", ["文件名", "Page size"], "全部参数", ["操作", "文件名", "格式", "起始位置", "Page size"]],
] as const)("arguments that tell nothing new are shown on demand, under names that users read: %s", async (language, first, all, whole) => {
  await loadWords(language);
  const page = new TestPage({}, language);
  opened.push(page);
  const request = { ...call, tool: "file_tool", arguments: upload, schema: uploadSchema };
  await page.show(<RequestSlot run={runOf(asking(request))} request="t1.c1" />);
  const labels = () => [...page.element.querySelectorAll("label")].map((label) => label.textContent);
  expect(labels()).toEqual(first);
  await page.press(all);
  expect(labels()).toEqual(whole);
});

test("the text of a file to write has a preview, which shows what was typed", async () => {
  const content = "| Metal |\n| --- |\n| Tin |";
  const page = await show({ ...call, tool: "file_tool", arguments: { command: "upload", filename: "a.md", content } });
  await page.write("Content", `${content}\n| Zinc |`);
  await page.press("Preview");
  await act(async () => vi.dynamicImportSettled());
  const cells = [...page.element.querySelectorAll("td")].map((cell) => cell.textContent);
  expect(cells).toEqual(["Tin", "Zinc"]);
  await page.press("Text");
  expect(page.find<HTMLTextAreaElement>("Content").value).toMatch(/Zinc \|$/);
  await page.write("File name", "a.bin");
  expect(page.all("Preview")).toEqual([]);
});

test("a changed argument is shown, though the title tells its original value", async () => {
  const page = await show({ ...call, tool: "file_tool", arguments: upload, schema: uploadSchema });
  expect(page.all("Command")).toEqual([]);
  await page.press("JSON");
  await page.write("Arguments", JSON.stringify({ ...upload, command: "get" }));
  await page.press("Form");
  expect(page.find<HTMLSelectElement>("Command").value).toBe("get");
});

test.each([
  ["skip", "Skipped in 5:00 if you do not answer"],
  ["confirm", "Allowed in 5:00 if you do not answer"],
  ["stop", "The run stops in 5:00 if you do not answer"],
  [null, "5:00 left to answer"],
] as const)("the end of the time, with %s", async (on_timeout, expected) => {
  const asked = runOf(asking({ ...call, tool: "look", arguments: {}, expires_at_ms: Date.now() + 300_000 }));
  const run = addFacts(asked, new Map([["t1.c1", { schema: null, on_timeout }]]));
  const page = new TestPage({ turns: [turnWith(run)] });
  opened.push(page);
  await page.show(<RequestSlot run={run} request="t1.c1" />);
  expect(page.text).toContain(expected);
});

test("a call at work tells the last line of its output, without a click", async () => {
  const run = runOf([
    asking({})[0],
    { id: "c", at_ms: 1400, type: "call.requested", call: "t1.c1", tool: "look", arguments: {}, visible: true },
  ]);
  const progress = { text: "Downloading\nInstalling: 3 of 31\n", isCut: false, bytes: 0, beganAtMs: 1400 };
  const items = (run.lanes.get("")?.rows ?? []).flatMap((row) => (row.kind === "call" ? [{ ...row, progress }] : []));
  const page = new TestPage({ turns: [turnWith(run)] });
  opened.push(page);
  await page.show(<WorkLine run={run} path="" items={items} onOpenLane={() => undefined} />);
  expect(page.text).toContain("look · Installing: 3 of 31");
});

test.each([
  ["skipped", "1 skipped", false],
  ["answered", "1 skipped", false],
  ["unanswered", "1 skipped", false],
  ["stopped", "1 stopped", false],
  ["error", "1 failed", true],
])("a call that ended as %s is summed up as %s", async (reason, expected, isFailure) => {
  const result = { status: "failed", reason, detail: "" };
  const run = runOf([
    asking({})[0],
    { id: "c", at_ms: 1400, type: "call.requested", call: "t1.c1", tool: "look", arguments: {}, visible: true },
    { id: "d", at_ms: 1500, type: "call.completed", call: "t1.c1", result },
  ]);
  const items = (run.lanes.get("")?.rows ?? []).filter((row) => row.kind === "call");
  const page = new TestPage();
  opened.push(page);
  await page.show(<WorkLine run={run} path="" items={items} onOpenLane={() => undefined} />);
  expect(page.text).toContain(expected);
  expect(page.element.querySelector("[class*=dotBad]") !== null).toBe(isFailure);
});

test("a call that nobody answered says so", async () => {
  const result = { status: "failed", reason: "unanswered", detail: "" };
  const run = runOf([
    asking({})[0],
    { id: "c", at_ms: 1400, type: "call.requested", call: "t1.c1", tool: "look", arguments: {}, visible: true },
    { id: "d", at_ms: 1500, type: "call.completed", call: "t1.c1", result },
  ]);
  const calls = (run.lanes.get("")?.rows ?? []).filter((row) => row.kind === "call");
  const page = new TestPage();
  opened.push(page);
  await page.show(calls.map((call) => <CallView key={call.call} call={call} />));
  expect(page.text).toContain("Not run: nobody responded in time.");
});

test("a card that moves takes no click until it has rested again", async () => {
  let top = 100;
  const rectangle = vi.spyOn(Element.prototype, "getBoundingClientRect");
  rectangle.mockImplementation(() => new DOMRect(0, top, 10, 10));
  const page = await show({ ...call, tool: "look", arguments: {} });
  top += 40;
  await act(() => vi.advanceTimersByTimeAsync(100));
  expect(page.find("Allow").getAttribute("aria-disabled")).toBe("true");
  for (const name of ["Allow", "Skip"]) await page.press(name);
  expect(page.calls).toEqual([]);
  await rest();
  await page.press("Allow");
  expect(page.calls).toEqual([["respond", "t1.c1", { kind: "confirm" }]]);
  rectangle.mockRestore();
});

test("arguments of all types are changed in the form", async () => {
  const string = { type: "string" };
  const properties = {
    isDry: { type: "boolean" },
    count: { type: "integer" },
    color: { enum: ["red", "green"] },
    place: { type: "object", properties: { town: string }, required: ["town"] },
    tags: { type: "array", items: string },
    sizes: { type: "array", items: { type: "number" } },
    text: string,
  };
  const parameters = { isDry: true, count: 1, color: "red", place: { town: "Oslo" }, tags: ["a", "b"], sizes: [1, 2, 3], text: "one\ntwo" };
  const schema = { type: "object", properties, required: Object.keys(properties) };
  const page = await show({ ...call, tool: "look", arguments: parameters, schema });
  await page.write("Is dry", "false");
  await page.write("Count", "2.5");
  expect(page.find<HTMLButtonElement>("Allow with changes").disabled).toBe(true);
  await page.write("Count", "2");
  await page.write("Color", "green");
  await page.write("Town", "Bergen");
  await page.press("Remove: Tags 1");
  // What was wrong in an item is gone with it.
  await page.write("3", "three");
  expect(page.find<HTMLButtonElement>("Allow with changes").disabled).toBe(true);
  await page.press("Remove: Sizes 3");
  expect(page.find<HTMLButtonElement>("Allow with changes").disabled).toBe(false);
  await page.press("Remove: Sizes 1");
  const [addTag, addSize] = page.all("Add");
  await act(() => addTag?.click());
  const added = [...page.element.querySelectorAll("fieldset")].find((set) => set.querySelector("legend")?.textContent === "Tags");
  expect(added?.querySelectorAll("input")).toHaveLength(2);
  await act(() => addSize?.click());
  const sizes = [...page.element.querySelectorAll("fieldset")].find((set) => set.querySelector("legend")?.textContent === "Sizes");
  expect([...(sizes?.querySelectorAll("input") ?? [])].map(({ value }) => value)).toEqual(["2", "0"]);
  expect(page.find<HTMLTextAreaElement>("Text").tagName).toBe("TEXTAREA");
  await page.write("Text", "one\nthree");
  await page.press("Allow with changes");
  const changed = { isDry: false, count: 2, color: "green", place: { town: "Bergen" }, tags: ["b", ""], sizes: [2, 0], text: "one\nthree" };
  expect(page.calls).toEqual([["respond", "t1.c1", { kind: "modify", parameters: changed }]]);
});

test("an item that is removed takes nothing of the others with it, and the focus stays in the list", async () => {
  const properties = { sizes: { type: "array", items: { type: "number" } } };
  const page = await show({ ...call, tool: "look", arguments: { sizes: [1, 2, 3] }, schema: { type: "object", properties, required: ["sizes"] } });
  const allow = () => page.find<HTMLButtonElement>("Allow with changes");
  await page.write("3", "three");
  await page.press("Remove: Sizes 1");
  expect(document.activeElement).toBe(page.find("Add"));
  expect([page.find<HTMLInputElement>("2").value, allow().disabled]).toEqual(["three", true]);
  await page.write("2", "4");
  expect(allow().disabled).toBe(false);
  await page.press("Allow with changes");
  expect(page.calls).toEqual([["respond", "t1.c1", { kind: "modify", parameters: { sizes: [2, 4] } }]]);
});
