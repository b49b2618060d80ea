// @vitest-environment jsdom
// Fenced blocks `chart`: the form of documents, drawn in the page.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { parse } from "smol-toml";
import { afterEach, expect, test, vi } from "vitest";
import { Markdown } from "../src/view/markdown/Markdown";
import { spansOf } from "../src/view/rows/chart";
import { readChartBlock } from "../src/view/rows/chart_block";
import { TestPage } from "./page";

globalThis.ResizeObserver ??= class {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
};

const pages: TestPage[] = [];
afterEach(() => Promise.all(pages.splice(0).map((page) => page.close())));

async function show(text: string, isWhole = true): Promise<TestPage> {
  const page = new TestPage();
  pages.push(page);
  await page.show(<Markdown text={text} isWhole={isWhole} />);
  return page;
}

const fenced = (json: string): string => `\`\`\`chart\n${json}\n\`\`\``;
const bars = { type: "bar", title: "East passed North", unit: "thousand USD", labels: ["2022", 2023], source: "sales.csv" };
const series = [
  { name: "North", values: [1317.5, 1342.8] },
  { name: "East", values: [1220.4, null] },
];

test("all blocks of the reports that documents draw are charts", () => {
  const folder = join(import.meta.dirname, "../../functions/sandbox/tests/reports");
  const texts = readdirSync(folder).filter((name) => /\.(md|html)$/.test(name)).map((name) => readFileSync(join(folder, name), "utf8"));
  const blocks = texts.flatMap((text) => [...text.matchAll(/^```chart\n([\s\S]*?)\n```/gm)].map((match) => match[1] ?? ""));
  const unread = blocks.filter((block) => readChartBlock(block) === null);
  expect(blocks.length).toBeGreaterThan(15);
  expect(unread).toEqual(['{"type": "donut", "series": []}', "not JSON"]);
});

test("a block is a chart with its words and its values", async () => {
  const page = await show(`Before\n\n${fenced(JSON.stringify({ ...bars, series }))}\n\nAfter`);
  expect(page.element.querySelectorAll("[data-bar]").length).toBe(3);
  for (const word of ["East passed North", "thousand USD", "Source: sales.csv", "North", "After"]) expect(page.text).toContain(word);
  const name = page.element.querySelector("[role=img]")?.getAttribute("aria-label");
  expect(name).toBe("Bar chart of North, East, 2 values: lowest 2022 (1,220.4), highest 2023 (1,342.8). The table below has all values.");
  expect([...page.element.querySelectorAll("tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent))).toEqual([
    ["2022", "1,317.5", "1,220.4"],
    ["2023", "1,342.8", ""],
  ]);
});

test.each([
  ["line", { type: "line", labels: ["a", "b"], series }, "[data-point]", 3],
  ["area", { type: "area", stacked: true, labels: ["a", "b"], series }, "[data-point]", 3],
  ["stacked bars", { type: "bar", stacked: true, labels: ["a", "b"], series }, "[data-bar]", 3],
  ["pie", { type: "pie", labels: ["a", "b"], series: [{ values: [1, 2] }] }, "[data-slice]", 2],
  ["scatter", { type: "scatter", x: "size", y: "price", series: [{ name: "a", points: [[1, 2], [3, 4]] }, { name: "b", points: [[2, 2]] }] }, "[data-point]", 3],
])("%s", async (_name, block, part, count) => {
  const page = await show(fenced(JSON.stringify(block)));
  expect(page.element.querySelectorAll(part).length).toBe(count);
  expect(page.element.innerHTML).not.toContain("NaN");
});

test("stacked bars end with the sum of each side", async () => {
  const stacked = [{ name: "a", values: [1] }, { name: "b", values: [-5] }, { name: "c", values: [2] }];
  const page = await show(fenced(JSON.stringify({ type: "bar", stacked: true, labels: ["x"], series: stacked })));
  expect([...page.element.querySelectorAll("[data-bar] > text")].map((text) => text.textContent)).toEqual(["-5", "3"]);
});

interface Listed {
  readonly charts: Readonly<Record<string, string>>;
  readonly others: Readonly<Record<string, string>>;
}

// The test of `chart.py` reads the same list.
const listFile = join(import.meta.dirname, "../../functions/sandbox/tests/tables/chart_blocks.toml");
const listed = parse(readFileSync(listFile, "utf8")) as unknown as Listed;

test.each(Object.entries(listed.charts))("%s: drawn", async (_name, json) => {
  const page = await show(fenced(json));
  expect(page.element.querySelector("[role=img] :is([data-bar], [data-point], [data-slice])")).not.toBeNull();
  expect(page.element.innerHTML).not.toContain("NaN");
});

test.each([
  ...Object.entries(listed.others),
  ["values after all bars that have room", JSON.stringify({ type: "bar", labels: Array(41).fill("a"), series: [{ values: [...Array(40).fill(null), 1] }] })],
])("%s stays code", async (_name, json) => {
  const page = await show(fenced(json));
  expect(page.element.querySelector("pre")?.textContent).toBe(json);
  expect(page.element.querySelector("[role=img]")).toBeNull();
});

const equal = (count: number): number[] => Array<number>(count).fill(5);

test("a whole with more parts than a chart has room for shows values, no shares", async () => {
  const page = await show(fenced(JSON.stringify({ type: "pie", labels: equal(20), series: [{ values: equal(20) }] })));
  expect(page.element.querySelectorAll("[data-bar]").length).toBe(20);
  expect(page.text).not.toContain("%");
});

test("more series than a chart has room for are no sum", async () => {
  const many = equal(8).map((value) => ({ values: [value] }));
  const page = await show(fenced(JSON.stringify({ type: "bar", stacked: true, labels: ["x"], series: many })));
  expect([...page.element.querySelectorAll("[data-bar] > text")].map((text) => text.textContent)).toEqual(equal(6).map(String));
});

test("lines add up, also with values below zero", () => {
  const stacked = [{ values: [3] }, { values: [-1] }, { values: [2] }];
  const data = readChartBlock(JSON.stringify({ type: "line", stacked: true, labels: ["x"], series: stacked }))?.data;
  expect(data && spansOf(data).map(([span]) => span?.end)).toEqual([3, 2, 4]);
});

test("of more than 500 points, the first are drawn", () => {
  const points = Array.from({ length: 501 }, (_, at) => [at, at]);
  expect(readChartBlock(JSON.stringify({ type: "scatter", series: [{ points }] }))?.data.labels.at(-1)).toBe("499");
});

test("values between 1900 and 2100 are values, and places on the axis of points may be years", async () => {
  const cells = async (block: unknown): Promise<(string | null)[]> =>
    [...(await show(fenced(JSON.stringify(block)))).element.querySelectorAll("td")].map((cell) => cell.textContent);
  expect(await cells({ type: "bar", labels: ["a"], series: [{ values: [2000] }] })).toEqual(["a", "2,000"]);
  expect(await cells({ type: "scatter", series: [{ name: "a", points: [[2000, 2000]] }] })).toEqual(["a", "2000", "2,000"]);
});

test("labels at one place are drawn without an error", async () => {
  const error = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const labels = ["2024-01-01", "2024-01-01", "2024-01-05"];
  await show(fenced(JSON.stringify({ type: "line", labels, series: [{ values: [1, 2, 3] }] })));
  expect(error).not.toHaveBeenCalled();
  error.mockRestore();
});

test("a long line of JSON is a chart", async () => {
  const labels = Array.from({ length: 400 }, (_, index) => `[*${index}*]`);
  const page = await show(fenced(JSON.stringify({ type: "line", labels, series: [{ values: labels.map((_, index) => index) }] })));
  expect(page.element.querySelector("[role=img]")).not.toBeNull();
});

test("a block that grows shows neither its JSON nor an error", async () => {
  const whole = fenced(JSON.stringify({ ...bars, series }));
  const texts = new Set<string>();
  for (let end = "```chart\n".length; end <= whole.length; end += 7) texts.add((await show(whole.slice(0, end), false)).text);
  expect([...texts]).toEqual(["A chart is being written…"]);
});

test("no JSON breaks the page, and no number is drawn outside", async () => {
  const value = fc.oneof(fc.constantFrom(null, 0, 5e-324, -5e-324), fc.double({ min: -1e14, max: 1e14, noNaN: true }));
  const point = fc.tuple(fc.double({ min: -1e9, max: 1e9, noNaN: true }), fc.double({ min: -1e9, max: 1e9, noNaN: true }));
  const chart = fc.oneof(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 7, max: 60 })).chain((count) =>
    fc.record({
      type: fc.constantFrom("line", "area", "bar", "pie", "scatter"),
      stacked: fc.boolean(),
      labels: fc.array(fc.oneof(fc.string(), fc.integer()), { minLength: count, maxLength: count }),
      series: fc.array(
        fc.record({ name: fc.string(), values: fc.array(value, { minLength: count, maxLength: count }), points: fc.array(point, { minLength: 1 }) }),
        { minLength: 1, maxLength: 12 },
      ),
    }),
  );
  await fc.assert(
    fc.asyncProperty(fc.oneof(chart, fc.json().map((json) => JSON.parse(json) as unknown)), async (block) => {
      const page = await show(fenced(JSON.stringify(block)));
      expect(page.element.innerHTML).not.toMatch(/NaN|Infinity|lowest , highest /);
      expect(page.text).not.toContain("could not be");
      await page.close();
      pages.pop();
    }),
    { numRuns: 150 },
  );
});
