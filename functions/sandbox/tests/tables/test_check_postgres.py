"""The check of queries over PostgreSQL, and hostile statements."""

import json
import os
import tempfile
import tomllib
import unittest
from pathlib import Path

from check_postgres import check_postgres
from check_sql import SqlError
from fetched_rows import show_fetched
from run_queries import run_queries

CASES = tomllib.loads((Path(__file__).parent / "postgres.toml").read_text("utf-8"))


def column(name, kind="integer"):
    return {"name": name, "type": kind}


def table(name, columns, keys=(), connection="shop"):
    return {"name": name, "columns": columns, "database": {"connection": connection, "keys": [list(key) for key in keys]}}


TABLES = [table("orders", [column("id"), column("a"), column("b", "text"), column("d", "date"), column("OrderDate", "date")],
                [["id"]]),
          table("客户", [column("id"), column("a"), column("地区", "text")], [["id"]])]


def list_statements():
    nested = [place.replace("{value}", value) for place in CASES["value_places"] for value in CASES["values"]]
    nested += [place.replace("{source}", source) for place in CASES["source_places"] for source in CASES["sources"]]
    return [sql for _, sql in CASES["statements"]] + nested


class CheckPostgres(unittest.TestCase):
    def test_queries_are_accepted(self):
        for sql in CASES["queries"]:
            with self.subTest(sql):
                checked = check_postgres(sql, TABLES)
                self.assertEqual(check_postgres(checked.text, TABLES).text, checked.text)

    def test_statements_have_a_code(self):
        for code, sql in CASES["statements"]:
            with self.subTest(sql):
                with self.assertRaises(SqlError) as raised:
                    check_postgres(sql, TABLES)
                self.assertEqual(raised.exception.code, code)
        for code, sql in [("too_long", "SELECT '" + "x" * 21_000 + "'"), ("too_deep", "SELECT " + "(" * 200 + "1" + ")" * 200),
                          ("syntax", "SELECT 1\0")]:
            with self.assertRaises(SqlError) as raised:
                check_postgres(sql, TABLES)
            self.assertEqual(raised.exception.code, code)

    def test_no_statement_passes_other_than_a_read_of_the_tables(self):
        statements = list_statements()
        passed = [sql for sql in statements if self.is_accepted(sql)]
        print(f"{len(statements)} statements for PostgreSQL, {len(passed)} passed")
        self.assertGreaterEqual(len(set(statements)), 240)
        self.assertEqual(passed, [])
        # The places themselves are accepted with a value and a table that are offered.
        for place in CASES["value_places"]:
            self.assertTrue(self.is_accepted(place.replace("{value}", "abs(1)")), place)
        for place in CASES["source_places"]:
            self.assertTrue(self.is_accepted(place.replace("{source}", "客户")), place)

    def is_accepted(self, sql):
        try:
            check_postgres(sql, TABLES)
        except SqlError:
            return False
        return True

    def test_names_are_written_as_the_database_has_them(self):
        for sql, text in [
            ("SELECT OrderDate, Orders.A FROM Orders", 'SELECT "OrderDate", "orders"."a" FROM "orders"'),
            ('SELECT "OrderDate" AS orderdate FROM orders ORDER BY orderdate',
             'SELECT "OrderDate" AS "orderdate" FROM "orders" ORDER BY "orderdate"'),
            # A word that is a function in PostgreSQL becomes the name of a column.
            ("SELECT user FROM orders", 'SELECT "user" FROM "orders"'),
            ("SELECT current_role FROM orders", 'SELECT "current_role" FROM "orders"'),
        ]:
            self.assertEqual(check_postgres(sql, TABLES).text, text)

    def test_error_names_what_is_near_and_the_place(self):
        for sql, near in [("SELECT * FROM ordres", "orders"), ("SELECT dte_trunc('day', d) FROM orders", "date_trunc")]:
            with self.assertRaises(SqlError) as raised:
                check_postgres(sql, TABLES)
            self.assertEqual(raised.exception.near[0], near)
        with self.assertRaises(SqlError) as raised:
            check_postgres("SELECT a\nFROM orders WHERE", TABLES)
        self.assertEqual(raised.exception.line, 2)


class Statements(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def run_one(self, sql, tables=TABLES, accepted=()):
        [result] = run_queries(tables, [{"question": "", "sql": sql}], accepted, 5)["results"]
        return result

    def test_query_becomes_a_statement_with_its_facts(self):
        result = self.run_one("SELECT b, sum(a) AS total FROM orders WHERE a > 1 GROUP BY b ORDER BY total DESC")
        statement = result["statement"]
        self.assertEqual((statement["connection"], statement["tables"], statement["has_condition"]), ("shop", ["orders"], True))
        self.assertEqual(statement["facts"], [
            {"table": "orders", "column": "b", "role": "dimension"},
            {"table": "orders", "column": "a", "aggregate": "sum", "role": "measure", "order": "desc"}])
        self.assertEqual(result["filters"], [{"table": "orders", "column": "a", "operator": ">", "values": ["1"]}])
        self.assertNotIn("rows", result)

    def test_total_over_a_join_is_judged_by_keys(self):
        doubled = "SELECT sum(orders.a) FROM orders JOIN 客户 ON 客户.a = orders.a"
        self.assertEqual(self.run_one(doubled)["error"]["code"], "doubled_total")
        self.assertEqual(self.run_one(doubled, accepted=[doubled])["notes"][0]["code"], "doubled_total")
        right = "SELECT sum(orders.a) FROM orders JOIN 客户 ON 客户.id = orders.a"
        self.assertEqual(self.run_one(right)["notes"], [])

    def test_query_reads_one_connection_or_files(self):
        import duckdb

        duckdb.sql("SELECT 7 AS n").write_parquet("notes.parquet")
        tables = [*TABLES, table("stock", [column("n")], connection="depot"),
                  {"name": "notes", "parquet": "notes.parquet", "columns": [column("n")]}]
        self.assertEqual(self.run_one("SELECT n FROM notes", tables)["rows"], "[[7]]")
        self.assertEqual(self.run_one("SELECT n FROM stock", tables)["statement"]["connection"], "depot")
        for sql in ("SELECT * FROM orders, notes", "SELECT * FROM orders, stock"):
            self.assertEqual(self.run_one(sql, tables)["error"]["code"], "two_sources")
        self.assertEqual(self.run_one("COPY orders TO '/tmp/x'", tables)["error"]["code"], "no_query")

    def show(self, kinds, *lines, reason=None, is_cut=False):
        Path("rows.jsonl").write_text("\n".join(lines), "utf-8")
        columns = [column(name, kind) for name, kind in kinds]
        result = {"number": 1, "question": "", "sql": "", "filters": [], "notes": [], "facts": [], "has_condition": True,
                  "is_cut": is_cut, "columns": columns, "file": "rows.jsonl", "reason": reason}
        return show_fetched([result])["results"][0]

    def test_rows_have_the_values_of_queries_over_files(self):
        kinds = [("n", "integer"), ("n", "decimal"), ("f", "number"), ("t", "timestamp"), ("x", "text"), ("b", "boolean"),
                 ("z", "decimal"), ("y", "number")]
        line = ('{"n":9007199254740993,"n":1234567890123456.78,"f":0.30000000000000004,"t":"2024-01-05T16:00:00+08:00",'
                '"x":{"k":[1.50,"Ä\\u2028"]},"b":true,"z":"NaN","y":"Infinity"}')
        result = self.show(kinds, line)
        self.assertEqual([entry["key"] for entry in result["columns"]], ["n", "n_2", "f", "t", "x", "b", "z", "y"])
        self.assertEqual(json.loads(result["rows"]), [[
            "9007199254740993", "1234567890123456.78", 0.30000000000000004, "2024-01-05T16:00:00",
            '{"k": [1.5, "Ä\u2028"]}', True, None, None]])
        self.assertEqual(Path(result["file"]).read_text("utf-8").splitlines()[0], "n,n_2,f,t,x,b,z,y")

    def test_no_rows_have_a_note(self):
        result = self.show([("n", "integer")])
        self.assertEqual((result["row_count"], result["notes"]), (0, [{"code": "no_rows"}]))
        # The first row of a result may be too large.
        result = self.show([("n", "integer")], is_cut=True)
        self.assertEqual((result["row_count"], result["is_cut"], result["notes"]), (0, True, []))
        reason = {"filter": "\"b\" = 'Nord'", "column": "b", "wanted": ["Nord"], "values": ["East", "North", "West"]}
        [note] = self.show([("n", "integer")], reason=reason)["notes"]
        self.assertEqual((note["filter"], note["column"], note["near"][0]), (reason["filter"], "b", "North"))
        range_of_days = {"filter": "d > '2030-01-01'", "column": "d", "wanted": ["2030-01-01"], "values": [],
                         "min": "2024-01-01", "max": "2024-12-31"}
        [note] = self.show([("n", "integer")], reason=range_of_days)["notes"]
        self.assertEqual(note, {"code": "no_rows", "filter": "d > '2030-01-01'", "column": "d", "min": "2024-01-01",
                                "max": "2024-12-31"})

    def test_conditions_are_probes_that_passed_the_check(self):
        sql = "SELECT count(*) FROM orders WHERE b = 'Nord' AND (a > 1 OR a < 0) AND d >= '2030-01-01' AND a <> 5"
        probes = self.run_one(sql)["statement"]["probes"]
        self.assertEqual([probe.get("column") for probe in probes], ["b", None, "d"])
        self.assertEqual(probes[0]["wanted"], ["Nord"])
        self.assertNotIn("Nord", probes[0]["text"])
        self.assertEqual(probes[0]["values_text"],
                         'SELECT DISTINCT "b" FROM "orders" WHERE "b" IS NOT NULL LIMIT 5000')
        self.assertEqual(probes[2]["values_text"],
                         'SELECT MIN("d") AS "least", MAX("d") AS "most" FROM "orders"')
        for probe in probes:
            for text in (probe["text"], probe.get("values_text", probe["text"])):
                self.assertEqual(check_postgres(text, TABLES).text, text)
        self.assertEqual(self.run_one("SELECT a FROM orders")["statement"]["probes"], [])


if __name__ == "__main__":
    unittest.main()
