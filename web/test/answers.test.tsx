// @vitest-environment jsdom
// Answers: their sources and files, also of older questions.

import { act } from "react";
import { afterEach, expect, test, vi } from "vitest";
import { EMPTY_TURN } from "../src/store/turns";
import type { SessionFile, Turn } from "../src/store/types";
import { NO_SURROUNDINGS, SurroundingsContext } from "../src/view/markdown/context";
import { readBytes } from "../src/view/files/content";
import { MOST_ROWS, parseCsv } from "../src/view/files/csv";
import { Box } from "../src/view/input/Box";
import { Markdown } from "../src/view/markdown/Markdown";
import { Sources } from "../src/view/panel/Sources";
import { CallView } from "../src/view/talk/CallView";
import { End } from "../src/view/talk/End";
import { RowView } from "../src/view/talk/RowView";
import { RowMaker } from "../src/view/talk/rows";
import { runOf, TestPage } from "./page";

const pages: TestPage[] = [];
afterEach(() => Promise.all(pages.splice(0).map((page) => page.close())));

function newPage(...given: ConstructorParameters<typeof TestPage>): TestPage {
  const page = new TestPage(...given);
  pages.push(page);
  return page;
}

const citation = (n: number, title: string, url: string) => ({ n, title, url });
const turn = (key: string, change: Partial<Turn>): Turn => ({ ...EMPTY_TURN, key, run: key, status: "finished", ...change });

test("a citation opens the source of its own turn, and other numbers stay text", async () => {
  const turns = [
    turn("q1", { answer: "Gold [1], zinc [2].", citations: [citation(1, "Of gold", "https://a.test/")] }),
    turn("q2", { answer: "Iron [1].", citations: [citation(1, "", "https://b.test/iron")] }),
  ];
  const page = newPage({ turns });
  const openSource = vi.fn();
  const rows = new RowMaker().rowsOf({ turns, unreadMessages: [] } as never);
  await page.show(
    <SurroundingsContext value={{ ...NO_SURROUNDINGS, openSource }}>
      {rows.map((row) => (
        <RowView key={row.key} row={row} onOpenLane={() => undefined} />
      ))}
    </SurroundingsContext>,
  );
  await page.press("Source 1: Of gold");
  await page.press("Source 1: b.test");
  expect(openSource.mock.calls).toEqual([
    ["q1", 1],
    ["q2", 1],
  ]);
  expect(page.text).toContain("zinc [2].");
});

test("texts before work are narration, and the answer is none", () => {
  const call = { id: "c", at_ms: 3, type: "call.requested", call: "t1.c1", tool: "look", arguments: {}, visible: true };
  const usage = { input_tokens: 1, output_tokens: 1, cached_tokens: 0, took_ms: 1 };
  const message = (id: string, text: string, answer: boolean) => ({ id, at_ms: 2, type: "message.completed", message: id, text, answer, usage });
  const narrations = (entries: readonly unknown[]): readonly boolean[] => {
    const turns = [{ ...turn("q1", { status: "running" }), detail: runOf(entries) }];
    const rows = new RowMaker().rowsOf({ turns, unreadMessages: [] } as never);
    return rows.flatMap((row) => (row.kind === "text" || row.kind === "block" ? [row.isNarration] : []));
  };
  const first = message("t1", "I look.", false);
  expect(narrations([first])).toEqual([false]);
  expect(narrations([first, call])).toEqual([true]);
  expect(narrations([first, call, message("t2", "Gold.", true)])).toEqual([true, false]);
});

test("a question is not sent without a file whose upload failed", async () => {
  const page = newPage();
  const upload = { id: "u1", name: "sales.csv", size: 10, progress: 0, error: null };
  page.draft({ text: "Which region?", uploads: [{ ...upload, state: "failed" }] });
  await page.show(<Box />);
  expect(page.text).toContain("One file was not uploaded. Try again, or remove it.");
  expect(page.find<HTMLButtonElement>("Send").disabled).toBe(true);
  page.draft({ text: "Which region?", uploads: [{ ...upload, state: "done" }] });
  await page.show(<Box />);
  expect(page.find<HTMLButtonElement>("Send").disabled).toBe(false);
});

test("the pictures of an answer are shown with it, and open", async () => {
  const file = (name: string, media_type: string) => ({ name, size: 1, description: `About ${name}`, media_type, internal: false, preview_url: `/${name}` }) as SessionFile;
  const page = newPage({ files: [file("a.png", "image/png"), file("b.csv", "text/csv")] });
  await page.show(<End turn={turn("q1", { answer: "Done.", fileNames: ["a.png", "b.csv"] })} />);
  expect([...page.element.querySelectorAll("img")].map((image) => image.alt)).toEqual(["About a.png"]);
});

test("the newest question is asked again in its own mode, as it is or from the box", async () => {
  const question = "Which metal?";
  const detail = { ...runOf([]), mode: "plan_solve" };
  const older = turn("q0", { question: "What?", answer: "That." });
  const newest = turn("q1", { question, answer: "Gold.", detail });
  const page = newPage({ turns: [older, newest] });
  page.modes("react", "plan_solve");
  await page.show(<End turn={newest} />);
  await page.press("Ask again");
  await page.press("Edit question");
  expect(page.calls).toEqual([
    ["setDraft", { mode: "plan_solve" }],
    ["ask", question],
    ["setDraft", { mode: "plan_solve", text: question }],
  ]);
  await page.show(<End turn={older} />);
  expect(page.all("Ask again")).toEqual([]);
  await page.change({ canWrite: false });
  await page.show(<End turn={newest} />);
  expect(page.all("Ask again")).toEqual([]);
});

test("citations of a result are links, and an address that is no page stays text", async () => {
  const page = newPage();
  const result = {
    status: "done",
    text: "Gold [1][2].",
    citations: [citation(1, "Of gold", "https://a.test/"), citation(2, "Bad", "javascript:alert(1)")],
    view: { kind: "text" },
    files: [],
    full_output: null,
  };
  const call = { kind: "call", key: "c", call: "t1.c1", tool: "deep_search", arguments: {}, result, endedAtMs: 1, startedAtMs: 0, waitedMs: 0 };
  await page.show(<CallView call={call as never} />);
  await act(() => page.element.querySelector("button")?.click());
  const links = [...page.element.querySelectorAll("a")];
  expect(links.map((link) => [link.getAttribute("aria-label"), link.href])).toEqual([
    ["Source 1: Of gold", "https://a.test/"],
  ]);
  expect(page.text).toContain("[2]");
});

test("a source has the excerpt of the page that was found under its address", async () => {
  const page = newPage();
  const url = "https://a.test/Heat_(x)";
  const source = { title: "Heat", url, excerpt: "Warm words.", query: "heat" };
  const other = { title: "Other", url: "https://b.test/", excerpt: "## hazel\\_1974\n| | **R410A** |", query: "heat" };
  const sources = new Map([source, other].map((found) => [found.url, found]));
  const citations = [citation(3, "Heat", "https://a.test/Heat_%28x%29")];
  await page.show(<Sources citations={citations} sources={sources} chosen={null} />);
  const items = [...page.element.querySelectorAll("li")].map((item) => item.textContent);
  expect(items).toEqual(["3Heata.testWarm words.", "Otherb.testhazel_1974\nR410A"]);
});

test("the files of an older answer are shown before its details are read", async () => {
  const file = (name: string) => ({ name, size: 1, description: "", media_type: "text/plain", internal: false }) as SessionFile;
  const page = newPage({ files: [file("a.md"), file("b.md")] });
  await page.show(<End turn={turn("q1", { answer: "Done.", fileNames: ["b.md", "deleted.md"] })} />);
  expect(page.element.textContent).toContain("b.md");
  expect(page.element.textContent).not.toMatch(/a\.md|deleted\.md/);
});

test("a result of 2 MB shows its first 20 kB until all of it is wanted", async () => {
  const page = newPage();
  const text = "word ".repeat(400_000);
  const result = { status: "done", text, view: { kind: "text" }, files: [], full_output: null };
  const call = { kind: "call", key: "c", call: "t1.c1", tool: "look", arguments: {}, result, endedAtMs: 1, startedAtMs: 0, waitedMs: 0 };
  await page.show(<CallView call={call as never} />);
  await act(() => page.element.querySelector("button")?.click());
  const shown = (): number => [...page.element.querySelectorAll("pre")].at(-1)?.textContent?.length ?? 0;
  expect(shown()).toBe(20_000);
  await page.press("Show all (2.0 MB)");
  expect(shown()).toBe(text.length);
});

test.each([
  ["quotations", `${"> ".repeat(500)}deep`],
  ["lists", `${"- ".repeat(500)}deep`],
  ["emphasis", `${"**a *b ".repeat(250)}deep${" b* a**".repeat(250)}`],
])("500 nested %s are elements to a limited depth, and text from there", async (_name, text) => {
  const page = newPage();
  await page.show(<Markdown text={text} isWhole />);
  const depths = [...page.element.querySelectorAll("*")].map((element) => {
    let depth = 0;
    for (let at: Element | null = element; at && at !== page.element; at = at.parentElement) depth += 1;
    return depth;
  });
  expect(Math.max(...depths)).toBeLessThan(150);
  expect(page.text).toContain("deep");
});

test("a long CSV ends after the most rows, and nothing behind them is read", () => {
  const table = parseCsv(`${"a,b\n".repeat(MOST_ROWS + 50_000)}`);
  expect([table.rows.length, table.isCut]).toEqual([MOST_ROWS, true]);
});

test("a CSV of 200 MB with long rows is read to its last shown row, and no further", async () => {
  const block = new TextEncoder().encode(`${"x".repeat(298)},1\n`.repeat(1_000));
  let sent = 0;
  const body = (): ReadableStream =>
    new ReadableStream({
      pull(controller) {
        if (sent >= 200_000_000) return controller.close();
        sent += block.length;
        controller.enqueue(block);
      },
    });
  vi.stubGlobal("fetch", () => Promise.resolve(new Response(body())));
  const content = await readBytes("/table.csv", 100_000_000, new AbortController().signal, MOST_ROWS);
  vi.unstubAllGlobals();
  if (content.state !== "ready") throw new Error(content.state);
  const table = parseCsv(new TextDecoder().decode(content.bytes), content.hasMore);
  expect([table.rows.length, table.isCut, content.isCut]).toEqual([MOST_ROWS, true, false]);
  expect(sent).toBeLessThan(32_000_000);
});

/** Reads a table that arrives in pieces of some bytes, up to some lines. */
async function readTable(text: string, size: number, lines: number) {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  const pull = (controller: ReadableStreamDefaultController): void => {
    if (at >= bytes.length) return controller.close();
    controller.enqueue(bytes.slice(at, (at += size)));
  };
  vi.stubGlobal("fetch", () => Promise.resolve(new Response(new ReadableStream({ pull }))));
  const content = await readBytes("/table.csv", 100_000_000, new AbortController().signal, lines);
  vi.unstubAllGlobals();
  if (content.state !== "ready") throw new Error(content.state);
  return { table: parseCsv(new TextDecoder().decode(content.bytes), content.hasMore), hasMore: content.hasMore };
}

test.each([1, 7, 64])("line breaks in cells of a CSV end no row, in pieces of %i bytes", async (size) => {
  const row = '"one\ntwo ""three""\nfour",5" wide\r\n';
  const whole = await readTable(row.repeat(20), size, 20);
  expect([whole.hasMore, whole.table.isCut, whole.table.rows.length]).toEqual([false, false, 20]);
  expect(whole.table.rows[19]).toEqual(['one\ntwo "three"\nfour', '5" wide']);
  // A table that goes on says so, and its last row, of which only a part may be read, is left out.
  const part = await readTable(row.repeat(20), size, 10);
  expect([part.hasMore, part.table.isCut]).toEqual([true, true]);
  expect(part.table.rows.length).toBeGreaterThanOrEqual(10);
  expect(part.table.rows.every((cells) => cells.join("|") === 'one\ntwo "three"\nfour|5" wide')).toBe(true);
});
