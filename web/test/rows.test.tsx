// @vitest-environment jsdom
// Results of queries: charts as data, and tables that are sorted and copied.

import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import type { QueryRows } from "../src/store/types";
import { chartOf, compareCells, ticksOf } from "../src/view/rows/chart";
import { isQuantity } from "../src/view/rows/column_kinds";
import { Rows } from "../src/view/rows/Rows";
import { RowMaker } from "../src/view/talk/rows";
import { EMPTY_TURN } from "../src/store/turns";
import { runOf, TestPage } from "./page";

globalThis.ResizeObserver ??= class {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
};

const pages: TestPage[] = [];
afterEach(() => Promise.all(pages.splice(0).map((page) => page.close())));

const column = (key: string, type: string) => ({ key, name: key, type });
function result(kind: string, rows: unknown[][], change: Partial<QueryRows> = {}): QueryRows {
  return {
    question: "Sales?",
    sql: "SELECT 1",
    columns: [column("x", "text"), column("y", "integer")],
    filters: [],
    rows,
    row_count: rows.length,
    is_cut: false,
    chart: { kind, x: "x", y: ["y"] },
    notes: [],
    ...change,
  };
}

async function show(results: readonly QueryRows[]): Promise<TestPage> {
  const page = new TestPage();
  pages.push(page);
  await page.show(<Rows results={results} />);
  return page;
}

test.each([
  ["line", [["2024-02", 2], ["2024-01", 1]], "line", ["2024-01", "2024-02"]],
  ["line", [[2025, 2], [2023, "1.5"], [2024, null]], "line", ["2023", "2024", "2025"]],
  ["bar", [["a", 2], ["b", -1]], "bar", ["a", "b"]],
  ["pie", [["a", 2], ["b", 1]], "pie", ["a", "b"]],
  ["pie", [["a", 2], ["b", -1]], "bar", ["a", "b"]],
  ["pie", [["a", 0], ["b", 0]], "bar", ["a", "b"]],
  ["pie", Array.from({ length: 13 }, () => ["a", 1]), "bar", Array(13).fill("a")],
  ["bar", [["a", "many"], ["b", "few"]], null, []],
  ["bar", [["a", 2]], null, []],
  ["table", [["a", 2], ["b", 1]], null, []],
  ["radar", [["a", 2], ["b", 1]], null, []],
])("a %s of %j is a %s", (kind, rows, drawn, labels) => {
  const chart = chartOf(result(kind, rows));
  expect([chart?.kind ?? null, chart?.labels ?? []]).toEqual([drawn, labels]);
});

test("a chart with unknown columns is none, and many rows and columns are cut", () => {
  const rows = Array.from({ length: 60 }, (_, index) => [`r${index}`, index]);
  for (const chart of [{}, { kind: "bar" }, { kind: "bar", x: "z", y: ["y"] }, { kind: "bar", x: "x", y: "y" }, { kind: "bar", x: "x", y: ["x"] }])
    expect(chartOf(result("", rows, { chart }))).toBeNull();
  const cut = chartOf(result("bar", rows));
  expect([cut?.labels.length, cut?.isCut]).toEqual([40, true]);
});

test("the distances of a line are those of its dates", () => {
  const chart = chartOf(result("line", [["2024-01-01", 1], ["2024-01-02", 1], ["2024-01-05", 1]]));
  expect(chart?.places).toEqual([0, 0.25, 1]);
  expect(chartOf(result("line", [["a", 1], ["b", 1], ["c", 1]]))?.places).toEqual([0, 0.5, 1]);
});

test("the marks of an axis are round, few, and around all values", () => {
  const value = fc.double({ min: -1e12, max: 1e12, noNaN: true });
  fc.assert(
    fc.property(value, value, (one, other) => {
      const ticks = ticksOf(Math.min(one, other), Math.max(one, other));
      expect(ticks.length).toBeGreaterThanOrEqual(2);
      expect(ticks.length).toBeLessThanOrEqual(8);
      expect(ticks[0]).toBeLessThanOrEqual(Math.min(0, one, other) + 1e-6);
      expect(ticks.at(-1)).toBeGreaterThanOrEqual(Math.max(0, one, other) - 1e-6);
    }),
  );
});

test("cells are in one order", () => {
  const cell = fc.oneof(fc.constant(null), fc.integer(), fc.string(), fc.constantFrom("10", "9.5", "-3"));
  fc.assert(
    fc.property(cell, cell, (one, other) => {
      expect(Math.sign(compareCells(one, other)) + Math.sign(compareCells(other, one))).toBe(0);
    }),
  );
});

const cells = (page: TestPage): string[] => [...page.element.querySelectorAll("td")].map((cell) => cell.textContent ?? "");

test("a table is sorted by a column, in both directions and back", async () => {
  const page = await show([result("table", [["b", 10], ["a", null], ["c", 9]])]);
  const orders = [];
  for (let turn = 0; turn < 3; turn += 1) {
    await page.press(["y", "y ↑", "y ↓"][turn] ?? "");
    orders.push(cells(page).filter((_, index) => index % 2 === 0).join(""));
  }
  expect(orders).toEqual(["cba", "bca", "bac"]);
  expect(page.element.querySelectorAll("th")[1]?.getAttribute("aria-sort")).toBe("none");
});

test.each([
  ["sales", "integer", undefined, [1284000, -1234, "12345678901234567890", null, 12], ["1,284,000", "-1,234", "12,345,678,901,234,567,890", "", "12"]],
  ["share", "decimal", "measure", ["1234567.890", 0.5], ["1,234,567.890", "0.5"]],
  ["tiny", "number", undefined, [1e-7, 1e21], ["1e-7", "1e+21"]],
  ["group", "integer", "dimension", [12345, 67890], ["12345", "67890"]],
  ["order_id", "integer", undefined, [12345], ["12345"]],
  ["orderId", "integer", undefined, [12345], ["12345"]],
  ["订单号", "integer", "measure", [12345], ["12345"]],
  ["period", "integer", undefined, [2021, 2024], ["2021", "2024"]],
  ["digits", "text", undefined, ["1284000"], ["1284000"]],
  ["founded", "integer", "measure", [2021, 2024], ["2,021", "2,024"]],
])("numbers of %s, %s, %s", async (name, type, role, values, expected) => {
  const page = await show([result("table", values.map((value) => [value]), { columns: [{ key: name, name, type, ...(role ? { role } : {}) }] as QueryRows["columns"] })]);
  expect(cells(page)).toEqual(expected);
});

test.each([
  [["orderid", "customerid", "userid", "orderID", "zipCode", "ZIPCode", "orderNo", "phoneNumber", "postcode"], false],
  [["paid", "amountPaid", "unpaid", "bid", "total_bid", "covid"], true],
])("numbers of %j are quantities: %s", (names, expected) => {
  expect(names.map((name) => isQuantity(column(name, "integer"), [12345]))).toEqual(names.map(() => expected));
});

test("a chart is drawn and named, and hostile cells are text", async () => {
  const hostile = "<img src=x onerror=alert(1)>";
  const page = await show([
    result("bar", [[hostile, 2], ["b", 1]], { question: hostile, sql: hostile, notes: ["doubled_total", "new_code"] }),
    result("pie", [["a", 3], ["b", 1]]),
  ]);
  expect(page.element.querySelectorAll("[data-bar]").length).toBe(2);
  expect(page.element.querySelectorAll("[data-slice]").length).toBe(2);
  const [bars, pie] = [...page.element.querySelectorAll("[role=img]")].map((chart) => chart.getAttribute("aria-label"));
  expect(bars).toContain(`highest ${hostile} (2)`);
  expect(pie).toBe("Pie chart of y by x, 2 values: lowest b (1), highest a (3). The table below has all values.");
  expect(page.element.querySelector("img, script")).toBeNull();
  expect(page.text).toContain("A join may count some rows more than once.");
  expect(page.text).toContain("new_code");
});

test("long and wide results show a part at first, and a copy has all", async () => {
  const width = 20_000;
  const columns = Array.from({ length: width }, (_, index) => column(`c${index}`, "integer"));
  const rows = Array.from({ length: 30 }, () => Array.from({ length: width }, (_, index) => index));
  const page = await show([result("table", rows, { columns, row_count: 5_000, is_cut: true })]);
  expect(cells(page).length).toBe(20 * 100);
  expect(page.text).toContain("The first 100 of 20,000 columns; a copy has all of them.");
  expect(page.text).toContain("The first 30 of 5,000+ rows.");
  await page.press("Show all 30 rows");
  expect(cells(page).length).toBe(30 * 100);
});

test("an answer that is the text of shown results is not repeated", () => {
  const call = (id: string, text: string) => [
    { id: `t1.${id}`, at_ms: 2, type: "call.requested", call: `t1.${id}`, tool: "run_sql", arguments: {}, visible: true },
    {
      id: `t1.${id}.result`,
      at_ms: 3,
      type: "call.completed",
      call: `t1.${id}`,
      result: { status: "done", text, full_output: null, files: [], view: { kind: "rows", results: [result("table", [["a", 1]])] } },
    },
  ];
  const kinds = (answer: string): string[] => {
    const end = { id: "end", at_ms: 9, type: "run.ended", status: "finished", answer, files: [], took_ms: 1, spent: { usage: {} } };
    const start = { id: "start", at_ms: 1, type: "run.started", session: "s", request: "r", question: "q", mode: "data_query" };
    const detail = runOf([start, ...call("c1", "| one |\n"), ...call("c2", "| two |\n"), end]);
    const turns = [{ ...EMPTY_TURN, key: "q", run: "run_1", status: "finished" as const, detail }];
    return new RowMaker().rowsOf({ turns, unreadMessages: [] } as never).map((row) => row.kind);
  };
  const shown = ["question", "work", "rows", "work", "rows"];
  expect(kinds("| two |")).toEqual([...shown, "end"]);
  expect(kinds("| one |\n\n| two |")).toEqual([...shown, "end"]);
  expect(kinds("Two.\n\n| two |")).toEqual([...shown, "block", "block", "end"]);
});
