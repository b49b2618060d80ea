// @vitest-environment jsdom
// The panel beside a conversation, the list of conversations, and what follows a failed question.

import { expect, test } from "vitest";
import { EMPTY_TURN, emptyConversation } from "../src/store/turns";
import { Panel } from "../src/view/panel/Panel";
import { turnOfPanel } from "../src/view/panel/turn";
import { PlanPanel } from "../src/view/plan/PlanPanel";
import { endOfFileLinks } from "../src/view/share/ShareDialog";
import { End } from "../src/view/talk/End";
import { RowView } from "../src/view/talk/RowView";
import { formatMoment } from "../src/words/numbers";
import { runOf, TestPage, turnWith } from "./page";

const start = { id: "start", at_ms: 1000, type: "run.started", session: "s1", request: "r1", question: "Q", mode: "react" };
const file = { name: "a.md", description: "", media_type: "text/markdown", size: 1, preview_url: "/a", download_url: "/a", internal: false };
const worked = { ...turnWith(runOf([start, { id: "f", at_ms: 1100, type: "file.added", file }])), key: "worked", status: "finished" as const };
const failed = { ...turnWith(runOf([start])), key: "failed", question: "What else?", status: "failed" as const };

test.each([
  ["a failed question", [worked, failed], "worked"],
  ["a running question", [worked, { ...failed, status: "running" as const }], "failed"],
  ["a question that failed after some work", [worked, { ...worked, key: "later", status: "failed" as const }], "later"],
  ["only a failed question", [failed], "failed"],
])("after %s the panel shows the work that there is", (_, turns, expected) => {
  expect(turnOfPanel({ ...emptyConversation("s1"), turns })?.key).toBe(expected);
});

test("the number of sources does not fall when the answer cites some of them", async () => {
  const page = new TestPage();
  const found = ["a", "b", "c"].map((name) => ({ title: name, url: `https://${name}.test/`, excerpt: "", query: "q" }));
  const turn = turnWith({ ...runOf([start]), sources: new Map(found.map((source) => [source.url, source])) });
  const cited = { ...turn, citations: [{ n: 1, title: "b", url: "https://b.test/" }] };
  const view = { tab: "sources" as const, lane: null, source: null };
  for (const shown of [turn, cited]) {
    const conversation = { ...emptyConversation("s1"), turns: [shown] };
    await page.show(
      <Panel conversation={conversation} turn={shown} view={view} onView={() => undefined} onEditPlan={() => undefined} />,
    );
    expect(page.find("Sources 3").getAttribute("aria-selected")).toBe("true");
    expect(page.element.querySelectorAll("li").length).toBe(3);
  }
  await page.close();
});

test("the panel waits for a plan with the tab of plans", async () => {
  const page = new TestPage();
  for (const [mode, tab] of [["plan_solve", "Plan"], ["react", "Files"]] as const) {
    const turn = turnWith(runOf([{ ...start, mode }]));
    const conversation = { ...emptyConversation("s1"), turns: [turn] };
    const view = { tab: null, lane: null, source: null };
    await page.show(
      <Panel conversation={conversation} turn={turn} view={view} onView={() => undefined} onEditPlan={() => undefined} />,
    );
    expect(page.find(tab).getAttribute("aria-selected")).toBe("true");
    expect(page.text.includes("The plan appears here when its steps are known.")).toBe(tab === "Plan");
  }
  await page.close();
});

test("a step whose agent was stopped is stopped, whichever of the two the run heard of first", async () => {
  const page = new TestPage();
  const usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, took_ms: 0 };
  const ended = { status: "stopped", text: "", files: [], failure: { code: "stopped", detail: "" }, spent: { steps: 0, model_calls: 0, tool_calls: 0, usage } };
  const step = { id: "s1", stage: "Tin", details: "look at tin", agent: "", depends_on: [], note: "", status: "in_progress" };
  for (const status of ["in_progress", "blocked"]) {
    const run = runOf([
      start,
      { id: "plan", at_ms: 1001, type: "plan.changed", plan: { title: "", steps: [{ ...step, status }] } },
      { id: "s1.1.start", at_ms: 1002, type: "child.started", child: "s1.1", description: "Tin", step: "s1" },
      { id: "s1.1.end", at_ms: 1003, type: "child.ended", child: "s1.1", ...ended },
      { id: "end", at_ms: 1004, type: "run.ended", answer: "", took_ms: 4, ...ended },
    ]);
    await page.show(<PlanPanel run={run} onOpenLane={() => undefined} />);
    expect([page.element.querySelector("[role=img]")?.getAttribute("aria-label"), page.text.includes("Stopped")]).toEqual(["Stopped", true]);
  }
  await page.close();
});

test("a failed question is asked again from the box, which keeps what was typed", async () => {
  const page = new TestPage({ turns: [worked, failed] });
  const box = document.createElement("textarea");
  box.dataset.key = "box";
  document.body.append(box);
  await page.show(<End turn={failed} />);
  await page.press("Edit question");
  box.value = "half a thought";
  await page.press("Edit question");
  expect(page.calls).toEqual([
    ["setDraft", { text: "What else?" }],
    ["setDraft", { text: "half a thought\n\nWhat else?" }],
  ]);
  box.remove();
  await page.close();
  const older = new TestPage({ turns: [failed, { ...EMPTY_TURN, key: "newer" }] });
  await older.show(<End turn={failed} />);
  expect(older.all("Ask again")).toEqual([]);
  await older.close();
});

test("links to files end at noon of the next day", () => {
  for (const at of ["2026-11-28T00:00:00Z", "2026-11-28T23:59:59Z"])
    expect(new Date(endOfFileLinks(Date.parse(at))).toISOString()).toBe("2026-11-29T12:00:00.000Z");
});

test("a conversation has its time of day, or its day", () => {
  const now = new Date(2026, 10, 28, 14, 5).getTime();
  expect(formatMoment(new Date(2026, 10, 28, 9, 3).getTime(), now, "en")).toBe("09:03");
  expect(formatMoment(new Date(2026, 10, 3, 9, 3).getTime(), now, "en")).toBe("Nov 3");
  expect(formatMoment(new Date(2026, 10, 3, 9, 3).getTime(), now, "zh")).toBe("11月3日");
});

test("a message that a run did not read before its end is read no more", async () => {
  const said = { kind: "user_message" as const, key: "m", atMs: 1, by: null, text: "In euros", isRead: false };
  const rows = [
    { kind: "said" as const, key: "failed/m", said },
    { kind: "pending" as const, key: "pending-1", message: { id: "1", text: "And yen", error: null, isStored: true, after: 0 } },
  ];
  for (const [status, expected, other] of [
    ["running", "not read yet", "not read: the run had ended"],
    ["stopped", "not read: the run had ended", "not read yet"],
  ] as const) {
    for (const row of rows) {
      const page = new TestPage({ turns: [{ ...failed, status }] });
      await page.show(<RowView row={row} onOpenLane={() => undefined} />);
      expect(page.text).toContain(expected);
      expect(page.text).not.toContain(other);
      await page.close();
    }
  }
});
