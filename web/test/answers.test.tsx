// @vitest-environment jsdom
// Answers: their sources and files, also of older questions.

import { act } from "react";
import { afterEach, expect, test, vi } from "vitest";
import { EMPTY_TURN } from "../src/store/turns";
import type { SessionFile, Turn } from "../src/store/types";
import { NO_SURROUNDINGS, SurroundingsContext } from "../src/view/markdown/context";
import { MOST_ROWS, parseCsv } from "../src/view/files/csv";
import { Markdown } from "../src/view/markdown/Markdown";
import { Sources } from "../src/view/panel/Sources";
import { CallView } from "../src/view/talk/CallView";
import { End } from "../src/view/talk/End";
import { RowView } from "../src/view/talk/RowView";
import { RowMaker } from "../src/view/talk/rows";
import { TestPage } from "./page";

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
  const call = { kind: "call", key: "c", call: "t1.c1", tool: "deep_search", arguments: {}, result, endedAtMs: 1, startedAtMs: 0 };
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
  const other = { title: "Other", url: "https://b.test/", excerpt: "", query: "heat" };
  const sources = new Map([source, other].map((found) => [found.url, found]));
  const citations = [citation(3, "Heat", "https://a.test/Heat_%28x%29")];
  await page.show(<Sources citations={citations} sources={sources} chosen={null} />);
  const items = [...page.element.querySelectorAll("li")].map((item) => item.textContent);
  expect(items).toEqual(["3Heata.testWarm words.", "Otherb.test"]);
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
  const call = { kind: "call", key: "c", call: "t1.c1", tool: "look", arguments: {}, result, endedAtMs: 1, startedAtMs: 0 };
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
