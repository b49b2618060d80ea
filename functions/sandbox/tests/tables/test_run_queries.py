"""Results of queries: rows, facts of the columns, doubled totals, empty results, and charts."""

import json
import os
import tempfile
import unittest
from pathlib import Path

import local_time
from query_chart import choose_chart
from read_tables import read_tables
from run_queries import run_queries

ORDERS = "id,地区,日期,金额,customer\n" + "".join(
    f"{number},{'华东 华北 华南'.split()[number % 3]},2024-{number % 12 + 1:02}-05,{number}.50,{number % 4 + 1}\n"
    for number in range(1, 25))
ITEMS = "order_id,sku,qty\n" + "".join(f"{number // 2 + 1},S{number % 5},{number % 3 + 1}\n" for number in range(48))
CUSTOMERS = "cid,name\n1,甲\n2,乙\n3,丙\n4,丁\n"

# A query, and the facts of its columns.
FACTS = [
    ("SELECT 地区, sum(金额) AS total FROM orders GROUP BY 1 ORDER BY 2 DESC",
     [{"table": "orders", "column": "地区", "role": "dimension"},
      {"table": "orders", "column": "金额", "aggregate": "sum", "role": "measure", "order": "desc"}]),
    ("WITH x AS (SELECT 地区 AS r, avg(金额) AS a FROM orders GROUP BY 地区) SELECT r, round(a, 1) AS b FROM x ORDER BY r",
     [{"table": "orders", "column": "地区", "role": "dimension", "order": "asc"},
      {"table": "orders", "column": "金额", "aggregate": "avg", "role": "measure"}]),
    ("SELECT 地区, sum(金额) / count(*) AS ratio FROM orders GROUP BY ALL",
     [{"table": "orders", "column": "地区", "role": "dimension"}, {"role": "measure"}]),
    ("SELECT count(DISTINCT customer) FROM orders",
     [{"table": "orders", "column": "customer", "aggregate": "count_distinct", "role": "measure"}]),
    ("WITH x AS (SELECT 地区 AS r, count(id) AS n FROM orders GROUP BY 1, 日期) SELECT r, sum(n) AS total FROM x GROUP BY 1",
     [{"table": "orders", "column": "地区", "role": "dimension"}, {"aggregate": "sum", "role": "measure"}]),
    ("SELECT id, 金额 FROM orders ORDER BY 金额",
     [{"table": "orders", "column": "id"}, {"table": "orders", "column": "金额", "order": "asc"}]),
    ("SELECT ID FROM Orders", [{"table": "orders", "column": "id"}]),
    ("SELECT 1 + 1 AS two", [{}]),
    ("SELECT 地区 FROM orders UNION SELECT name FROM customers", [{"table": "orders", "column": "地区"}]),
]

# A query, and whether its total counts rows several times.
TOTALS = [
    ("SELECT sum(o.金额) FROM orders o JOIN items i ON o.id = i.order_id", True),
    ("SELECT avg(金额) FROM orders JOIN items ON id = order_id", True),
    ("SELECT c.name, sum(o.金额) FROM orders o JOIN items i ON o.id = i.order_id JOIN customers c ON c.cid = o.customer "
     "GROUP BY 1", True),
    ("SELECT count(o.id) FROM orders o, items i WHERE o.id = i.order_id", True),
    ("SELECT sum(金额) FROM orders o CROSS JOIN customers c", True),
    ("WITH x AS (SELECT sum(o.金额) AS s FROM orders o JOIN items i ON o.id = i.order_id) SELECT s FROM x", True),
    ("SELECT sum(i.qty) FROM orders o JOIN items i ON o.id = i.order_id", False),
    ("SELECT sum(i.qty * o.金额) FROM orders o JOIN items i ON o.id = i.order_id", False),
    ("SELECT count(DISTINCT o.id) FROM orders o JOIN items i ON o.id = i.order_id", False),
    ("SELECT max(o.金额) FROM orders o JOIN items i ON o.id = i.order_id", False),
    ("SELECT c.name, sum(o.金额) FROM orders o JOIN customers c ON c.cid = o.customer GROUP BY 1", False),
    ("SELECT sum(o.金额) FROM orders o JOIN (SELECT order_id, sum(qty) AS q FROM items GROUP BY order_id) i "
     "ON o.id = i.order_id", False),
    ("SELECT sum(o.金额) FROM orders o WHERE o.id IN (SELECT order_id FROM items)", False),
    ("SELECT sum(o.金额) FROM orders o SEMI JOIN items i ON o.id = i.order_id", False),
    ("SELECT count(*) FROM orders o JOIN items i ON o.id = i.order_id", False),
    ("SELECT sum(金额) FROM orders", False),
    # The alternatives of a condition join by the same key, or by different ones.
    ("SELECT sum(i.qty) FROM orders o, items i WHERE (o.id = i.order_id AND i.qty < 2) OR (i.order_id = o.id AND i.qty > 2)",
     False),
    ("SELECT sum(i.qty) FROM orders o, items i WHERE o.id = i.order_id OR o.customer = i.order_id", True),
    ("SELECT sum(i.qty) FROM orders o, items i WHERE o.id = 1 OR o.id = 2", True),
    ("SELECT sum(i.qty) FROM orders o, items i WHERE o.id = 1", False),
    # Items are counted as well as orders: the query does not tell which are meant.
    ("SELECT sum(CASE WHEN o.金额 > 5 THEN 1 ELSE 0 END) FROM orders o JOIN items i ON o.id = i.order_id", True),
]

# An empty query, and the note.
EMPTY = [
    ("SELECT * FROM orders WHERE 地区 = '华東'", {"column": "地区", "near": ["华东", "华北", "华南"]}),
    ("SELECT * FROM orders WHERE 金额 > 0 AND 地区 = '东'", {"column": "地区", "near": ["华东", "华北", "华南"]}),
    ("SELECT * FROM orders WHERE 日期 >= DATE '2025-01-01'", {"column": "日期", "min": "2024-01-05", "max": "2024-12-05"}),
    ("SELECT * FROM orders WHERE 金额 BETWEEN 900 AND 1000", {"column": "金额", "min": 1.5, "max": 24.5}),
    ("WITH x AS (SELECT * FROM orders WHERE 金额 < -1) SELECT * FROM x", {"column": "金额", "min": 1.5, "max": 24.5}),
    ("SELECT * FROM orders WHERE upper(地区) = 'X'", {}),
]


def column(kind, role=None, **more):
    return {"key": more.pop("key", kind), "type": kind, **({"role": role} if role else {}), **more}


DATE, TEXT, YEAR = column("date", "dimension"), column("text", "dimension"), column("integer", "dimension", key="year")
SUM = column("decimal", "measure", key="m", aggregate="sum")
# The columns, the rows, and the kind of chart.
CHARTS = [
    ([DATE, SUM], [["2024-01-01", 1], ["2024-02-01", 2]], "line"),
    ([column("timestamp", "dimension"), SUM], [["2024-01-01T00:00:00", 1], ["2024-02-01T00:00:00", 2]], "line"),
    ([YEAR, SUM], [[2023, 1], [2024, 2]], "line"),
    ([YEAR, SUM], [[1, 1], [2, 2]], "pie"),
    ([TEXT, SUM], [["2024-01", 1], ["2024-02", 2]], "line"),
    ([TEXT, SUM], [["a", 1], ["b", 2]], "pie"),
    ([TEXT, SUM], [["a", 1], ["b", -2]], "bar"),
    ([TEXT, column("decimal", "measure", key="m", aggregate="avg")], [["a", 1], ["b", 2]], "bar"),
    ([TEXT, {**SUM, "order": "desc"}], [["a", 2], ["b", 1]], "bar"),
    ([TEXT, SUM], [[f"{number}", number] for number in range(10)], "bar"),
    ([TEXT, SUM], [[f"{number}", number] for number in range(100)], "table"),
    ([TEXT, SUM, {**SUM, "key": "n"}], [["a", 1, 2], ["b", 2, 3]], "bar"),
    ([column("text"), column("decimal")], [["a", 1], ["b", 2]], "table"),
    ([SUM], [[5]], "table"),
    ([TEXT, SUM], [["a", 1]], "table"),
    ([TEXT, {**TEXT, "key": "t"}, SUM], [["a", "b", 1], ["b", "c", 2]], "table"),
    ([TEXT, column("text", "measure", key="m", aggregate="max")], [["a", "x"], ["b", "y"]], "table"),
]


class RunQueries(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        self.tables = []
        for name, text in (("orders", ORDERS), ("items", ITEMS), ("customers", CUSTOMERS)):
            Path(f"{name}.csv").write_text(text, encoding="utf-8")
            [table] = read_tables(f"{name}.csv", f"{name}.csv")["tables"]
            self.tables.append({key: table[key] for key in ("parquet", "columns")} | {"name": name})

    def run_one(self, sql, accepted=()):
        [result] = run_queries(self.tables, [{"question": "?", "sql": sql}], accepted, 20)["results"]
        json.dumps(result)
        return result

    def test_rows_are_right_and_keep_their_order(self):
        result = self.run_one("SELECT 地区, sum(金额) AS total FROM orders GROUP BY 1 ORDER BY 2 DESC")
        self.assertEqual(json.loads(result["rows"]), [["华东", 112], ["华南", 104], ["华北", 96]])
        self.assertEqual((result["row_count"], result["shown"], result["is_cut"], result["notes"]), (3, 3, False, []))
        self.assertEqual(Path(result["file"]).read_text(encoding="utf-8").split(), ["地区,total", "华东,112", "华南,104", "华北,96"])

    def test_columns_have_the_facts_that_the_tree_shows(self):
        for sql, expected in FACTS:
            with self.subTest(sql):
                columns = self.run_one(sql)["columns"]
                self.assertEqual([{key: value for key, value in column.items() if key not in ("key", "name", "type")}
                                  for column in columns], expected)

    def test_filters_are_read_with_their_operators(self):
        sql = ("SELECT count(*) FROM orders WHERE 地区 IN ('华东', '华北') AND 日期 >= DATE '2024-02-01' AND 5 < 金额 "
               "AND (customer = 1 OR customer = 2)")
        filters = [(item["column"], item["operator"], item["values"]) for item in self.run_one(sql)["filters"]]
        self.assertEqual(filters, [("地区", "in", ["华东", "华北"]), ("日期", ">=", ["2024-02-01"]), ("金额", ">", ["5"])])

    def test_doubled_total_is_an_error_once(self):
        for sql, is_doubled in TOTALS:
            with self.subTest(sql):
                result = self.run_one(sql)
                self.assertEqual(result.get("error", {}).get("code"), "doubled_total" if is_doubled else None)
                if is_doubled:
                    again = self.run_one(sql, [sql])
                    self.assertEqual([note["code"] for note in again["notes"]], ["doubled_total"])

    def test_empty_result_names_the_filter_and_values_that_exist(self):
        for sql, expected in EMPTY:
            with self.subTest(sql):
                [note] = self.run_one(sql)["notes"]
                self.assertEqual({key: value for key, value in note.items() if key not in ("code", "filter")}, expected)
                self.assertIn("filter", note)
        self.assertEqual(self.run_one("SELECT * FROM orders WHERE 金额 < 0 AND 地区 = 'x'")["notes"], [{"code": "no_rows"}])
        self.assertEqual(self.run_one("SELECT * FROM orders LIMIT 0")["notes"], [])

    def test_values_are_json_without_loss(self):
        sql = ("SELECT 9007199254740993 AS a, 1234567890123456.78::DECIMAL(20, 2) AS b, 'NaN'::DOUBLE AS c, "
               "DATE '2024-01-05' AS d, TIMESTAMP '2024-01-05 01:02:03' AS e, INTERVAL 1 DAY AS f, [1, 2] AS g, "
               "'\\xAA'::BLOB AS h, NULL AS i, 0.5::DECIMAL(9, 2) AS j, true AS k, 'a\nb' AS l")
        [row] = json.loads(self.run_one(sql)["rows"])
        self.assertEqual(row, ["9007199254740993", "1234567890123456.78", None, "2024-01-05", "2024-01-05T01:02:03",
                               "1 day, 0:00:00", "[1, 2]", "aa", None, 0.5, True, "a\nb"])

    def test_clock_of_the_engine_is_that_of_the_zone(self):
        self.addCleanup(local_time.set_time_zone, local_time.UTC)
        sql = "SELECT to_timestamp(1700000000)::TIMESTAMP AS a, current_date = current_timestamp::DATE AS b, to_timestamp(0) AS c"
        for zone, row in [("UTC", ["2023-11-14T22:13:20", True, "1970-01-01T00:00:00+00:00"]),
                          ("Asia/Shanghai", ["2023-11-15T06:13:20", True, "1970-01-01T08:00:00+08:00"])]:
            local_time.set_time_zone(zone)
            self.assertEqual(json.loads(self.run_one(sql)["rows"]), [row])

    def test_columns_with_the_same_name_have_different_keys(self):
        result = self.run_one("SELECT id, id, ID FROM orders LIMIT 1")
        keys = [column["key"].casefold() for column in result["columns"]]
        self.assertEqual(len(set(keys)), 3)

    def test_view_is_limited_and_the_file_has_more(self):
        result = self.run_one("SELECT range AS n FROM range(150000)")
        self.assertEqual((result["row_count"], result["is_cut"], result["shown"]), (100_000, True, 1_000))
        self.assertEqual(len(Path(result["file"]).read_text().split()), 100_001)
        wide = self.run_one("SELECT repeat('x', 1000) AS a FROM range(1000)")
        self.assertLess(len(wide["rows"]), 210_000)
        self.assertLess(wide["shown"], 250)

    def test_errors_name_the_place_in_the_query_and_near_names(self):
        for sql, code, near, place in [
            ("SELECT 金客 FROM orders", "unknown_column", "金额", (1, 8)), ("SELECT 1,\no.custmer FROM orders o", "unknown_column",
                                                                   "customer", (2, 1)),
            ("SELECT * FROM order", "syntax", None, (1, 15)), ("SELECT * FROM ordrs", "unknown_table", "orders", (None, None)),
            ("SELECT 'a'::INTEGER", "failed", None, (1, 11)),
        ]:
            with self.subTest(sql):
                error = self.run_one(sql)["error"]
                self.assertEqual((error["code"], (error["line"], error["column"])), (code, place))
                self.assertTrue(near is None or error["near"][0] == near, error)

    def test_columns_for_a_wrong_name_are_those_of_the_query_and_others_have_their_table(self):
        for sql, name, near in [
            ("SELECT 金客 FROM orders JOIN items ON id = order_id", "金客", ["金额"]),
            ("SELECT nme FROM orders", "nme", ["id", "地区", "日期", "金额", "customer"]),
            ("SELECT qty FROM orders", "qty", ["items.qty"]), ("SELECT o.NAME FROM orders o", "NAME", ["customers.name"]),
            # A wrong name inside a total over a join is a wrong name, and no doubled total.
            ("SELECT sum(qtyy) FROM orders JOIN items ON id = order_id", "qtyy", ["qty"]),
        ]:
            with self.subTest(sql):
                error = self.run_one(sql)["error"]
                self.assertEqual((error["code"], error["name"], error["near"]), ("unknown_column", name, near))

    def test_wrong_name_of_a_function_has_near_ones_that_the_engine_has(self):
        for sql, near in [("SELECT rond(金额) FROM orders", "round"), ("SELECT sub_string(地区, 1, 1) FROM orders", "substring"),
                          ("SELECT strftme(日期, '%Y') FROM orders", "strftime")]:
            error = self.run_one(sql)["error"]
            self.assertEqual((error["code"], error["near"][0]), ("function", near))

    def test_every_error_is_json_with_a_code(self):
        for sql, code in [
            ("", "empty"), ("SELECT ?", "parameter"), ("SELECT 1; SELECT 2", "not_one_query"), ("DROP TABLE orders", "no_query"),
            ("SELECT * FROM main.orders", "qualified_table"), ("SELECT " + "x" * 21_000, "too_long"),
            ("SELECT sum(o.金额) FROM orders o JOIN items i ON o.id = i.order_id", "doubled_total"),
            ("SELECT CAST('金' AS INTEGER)", "failed"), ("SELECT read_text('x')", "function"),
        ]:
            with self.subTest(sql[:40]):
                error = self.run_one(sql)["error"]
                self.assertEqual(error["code"], code)
                self.assertEqual(json.loads(json.dumps(error)), error)

    def test_names_and_values_with_dollars_and_quotes_stay_as_they_are(self):
        Path("odd.csv").write_text('价格$1,"a ""b"" \\1",it\'s\n5,$1,x\n7,\\0,$$\n', encoding="utf-8")
        [table] = read_tables("odd.csv", "odd.csv")["tables"]
        self.tables.append({key: table[key] for key in ("parquet", "columns")} | {"name": "odd"})
        names = [column["name"] for column in table["columns"]]
        selected = ", ".join(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in names)
        result = self.run_one(f"SELECT {selected} FROM \"odd\" WHERE \"it's\" = '$$'")
        self.assertEqual([column["name"] for column in result["columns"]], ["价格$1", 'a "b" \\1', "it's"])
        self.assertEqual(json.loads(result["rows"]), [[7, "\\0", "$$"]])

    def test_queries_share_the_time_and_each_has_a_result(self):
        slow = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range + b.range = 7"
        queries = [{"question": "", "sql": sql} for sql in ("SELECT 1", slow, "SELECT 2")]
        first, second, third = run_queries(self.tables, queries, [], 2)["results"]
        self.assertEqual(first["rows"], "[[1]]")
        self.assertEqual((second["error"]["code"], third["error"]["code"]), ("timeout", "timeout"))

    def test_chart_fits_the_columns_and_values(self):
        for columns, rows, kind in CHARTS:
            with self.subTest(kind=kind, rows=rows[:2]):
                chart = choose_chart(columns, rows)
                self.assertEqual(chart["kind"], kind)
                self.assertEqual("x" in chart, kind != "table")


if __name__ == "__main__":
    unittest.main()
