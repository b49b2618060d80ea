// @vitest-environment jsdom
// The plan editor: moves and removals, and a plan that somebody else changed meanwhile.

import { useState } from "react";
import { afterEach, expect, test } from "vitest";
import type { OpenConversation } from "../src/store/open_conversation";
import { changePlan } from "../src/store/run_actions";
import { emptyConversation } from "../src/store/turns";
import type { Conversation } from "../src/store/types";
import { PlanDialog } from "../src/view/plan/PlanDialog";
import { Editor } from "../src/view/plan/Editor";
import { type EditStep, movedStep, stepsAfter, toEditSteps } from "../src/view/plan/steps";
import { openRequestsBelow, totalsBelow, workOfSteps } from "../src/view/lanes";
import { RequestError } from "../src/wire/error";
import type { Routes } from "../src/wire/routes";
import { runOf, TestPage, turnWith } from "./page";

const step = (id: string, details: string, more: Record<string, unknown> = {}) => ({
  id,
  stage: "",
  details,
  status: "not_started",
  note: "",
  depends_on: [],
  agent: null,
  ...more,
});

const PLAN = {
  title: "Prices",
  steps: [step("s1", "Gold", { status: "completed" }), step("s2", "Silver"), step("s3", "Compare", { depends_on: ["s1", "s2"] })],
};

const run = runOf([
  { id: "start", at_ms: 1000, type: "run.started", session: "s1", request: "r1", question: "Q", mode: "plan_solve" },
  { id: "t1.plan", at_ms: 1100, type: "plan.changed", plan: PLAN },
]);

const opened: TestPage[] = [];
afterEach(async () => {
  for (const page of opened.splice(0)) await page.close();
});

async function edit(): Promise<{ page: TestPage; closed: () => boolean }> {
  const page = new TestPage({ turns: [turnWith(run)] });
  opened.push(page);
  page.results.set("readPlanVersion", 3);
  let isClosed = false;
  await page.show(<PlanDialog onClose={() => (isClosed = true)} />);
  return { page, closed: () => isClosed };
}

/** The steps as they are sent. */
const sent = (details: readonly string[], ids: readonly string[], before: readonly (readonly string[])[]) =>
  details.map((text, at) => ({ id: ids[at], stage: "", details: text, depends_on: before[at], agent: "" }));

test("steps are changed, moved and removed, and begun ones keep their text", async () => {
  const { page, closed } = await edit();
  expect(page.all("Step 1")).toEqual([]);
  await page.write("Step 2", "Silver in euros");
  await page.press("Move down: Step 2");
  await page.press("Save");
  await page.press("Remove step: Step 3");
  await page.press("Save");
  expect(page.calls).toEqual([
    ["changePlan", sent(["Gold", "Compare", "Silver in euros"], ["s1", "s3", "s2"], [[], ["s1", "s2"], []]), 3],
    ["changePlan", sent(["Gold", "Compare"], ["s1", "s3"], [[], ["s1"]]), 3],
  ]);
  await page.change({ planEdit: { state: "saving" } });
  await page.change({ planEdit: { state: "saved" } });
  expect(closed()).toBe(true);
});

test("a step moves to any place but those of steps that have begun", () => {
  const steps = toEditSteps(["done", "b", "c", "d"].map((id) => step(id, id, { status: id === "done" ? "completed" : "not_started" })) as never);
  const moved = (from: number, to: number) => movedStep(steps, from, to).map((one) => one.key).join(" ");
  expect([moved(1, 3), moved(3, 1), moved(2, 1)]).toEqual(["done c d b", "done d b c", "done c b d"]);
  for (const [from, to] of [[1, 0], [0, 1], [3, 4], [1, -1], [9, 1]] as const) expect(moved(from, to)).toBe("done b c d");
});

test("a conflict shows both plans, keeps the text, and saves over the other version", async () => {
  const { page } = await edit();
  await page.write("Step 2", "Mine");
  const plan = { ...PLAN, steps: [step("s1", "Gold"), step("s2", "Theirs"), step("s3", "Compare")] } as never;
  await page.change({ planEdit: { state: "conflict", version: 4, plan } });
  expect(page.text).toContain("Somebody changed the plan meanwhile.");
  expect(page.text).toContain("Theirs");
  expect(page.find<HTMLTextAreaElement>("Step 2").value).toBe("Mine");
  await page.press("Save mine over it");
  expect(page.calls.at(-1)?.[2]).toBe(4);
  await page.press("Take this one");
  await page.change({ planEdit: { state: "idle" } });
  expect(page.find<HTMLTextAreaElement>("Step 2").value).toBe("Theirs");
  await page.press("Save");
  expect(page.calls.at(-1)?.[2]).toBe(4);
});

test("a conflict of the server becomes a state of the page, and other errors do", async () => {
  let conversation: Conversation = { ...emptyConversation("s1"), turns: [turnWith(run)] };
  const open = {
    activeRun: "run_1",
    get conversation() {
      return conversation;
    },
    update: (part: Partial<Conversation>) => (conversation = { ...conversation, ...part }),
    wake: () => undefined,
  } as unknown as OpenConversation;
  const info = { message: "", status: 409, isRetryable: false, requestId: null, retryAfterS: null, field: null };
  const rejectWith = (code: string, body: unknown): Routes => {
    const changePlan = () => Promise.reject(new RequestError({ ...info, code } as never, body));
    return { run: () => Promise.resolve({ plan_version: 3 }), changePlan } as unknown as Routes;
  };
  await changePlan(rejectWith("plan_changed", { code: "plan_changed", version: 4, plan: PLAN }), open, [], null);
  expect(conversation.planEdit).toEqual({ state: "conflict", version: 4, plan: PLAN });
  await changePlan(rejectWith("plan_invalid", null), open, [], 4);
  expect(conversation.planEdit).toMatchObject({ state: "failed", error: { code: "plan_invalid" } });
});

test("a key press in a long plan looks at each step a few times, not at each pair", async () => {
  const count = 120;
  let looks = 0;
  const chain = Array.from({ length: count }, (_, at): EditStep => {
    const made = toEditSteps([step(`s${at}`, `Step ${at}`) as never])[0] as EditStep;
    const dependsOn = at === 0 ? [] : [`s${at - 1}`];
    return Object.defineProperty({ ...made }, "dependsOn", {
      enumerable: true,
      get() {
        looks += 1;
        return dependsOn;
      },
    });
  });
  let shown: readonly EditStep[] = chain;
  function Whole() {
    const [steps, setSteps] = useState<readonly EditStep[]>(chain);
    shown = steps;
    return <Editor steps={steps} original={chain} onChange={setSteps} />;
  }
  const page = new TestPage();
  opened.push(page);
  await page.show(<Whole />);
  looks = 0;
  await page.write("Step 60", "Written");
  expect(shown[59]?.details).toBe("Written");
  expect(looks).toBeGreaterThan(0);
  expect(looks).toBeLessThan(10 * count);
  // Behind the closed menu, too, one walk finds what comes later.
  expect([...stepsAfter(chain, "s117")]).toEqual(["s117", "s118", "s119"]);
  looks = 0;
  stepsAfter(chain, "s1");
  expect(looks).toBe(count);
});

test("the work on steps is that of their lanes and of those below, from one look at each lane", () => {
  const steps = Array.from({ length: 40 }, (_, at) => step(`s${at}`, `Step ${at}`, { status: "in_progress" }));
  const child = (path: string, parent: string, more: object) => ({ id: `${path}.start`, at_ms: 2, type: "child.started", child: path, parent, description: path, agent: "a", ...more });
  const said = (path: string, tokens: number) => ({
    id: `${path}.t1`, at_ms: 3, type: "message.completed", path, message: `${path}.t1`, text: "", reasoning: "", attempt: 1, usage: { input_tokens: tokens, output_tokens: 1 },
  });
  const below = steps.flatMap(({ id }, at) => [
    child(`${id}.1`, "", { step: id }),
    child(`${id}.1.t1.c1`, `${id}.1`, { path: `${id}.1`, call: "t1.c1" }),
    said(`${id}.1`, at),
    said(`${id}.1.t1.c1`, 1_000),
  ]);
  const estimate = { tokens: 0, ms: 0, calls: 0, ms_p95: 0, tokens_p95: 0, samples: 0 };
  const asked = { id: "q", about: "call", call: "t2.c1", tool: "look", arguments: {}, risk: "low", estimate, digest: "d", path: "s7.1.t1.c1" };
  const run = runOf([
    { id: "start", at_ms: 1, type: "run.started", session: "s1", request: "r1", question: "Q", mode: "plan_solve" },
    { id: "plan", at_ms: 1, type: "plan.changed", plan: { title: "", steps } },
    ...below,
    { id: "asked", at_ms: 4, type: "human.requested", group: "g", reasoning: "", risk: "low", estimate, requests: [asked] },
  ]);
  const work = workOfSteps(run);
  expect(work.size).toBe(40);
  for (const [id, { lane, tokens, isWaiting }] of work) {
    expect(lane?.step).toBe(id);
    expect(tokens).toBe(totalsBelow(run, `${id}.1`).tokens);
    expect(tokens).toBeGreaterThan(0);
    expect(isWaiting).toBe(openRequestsBelow(run, `${id}.1`).length > 0);
  }
  expect([...work].flatMap(([id, { isWaiting }]) => (isWaiting ? [id] : []))).toEqual(["s7"]);
});
