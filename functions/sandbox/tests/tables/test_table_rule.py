"""Tables with a rule: the file that is written has the visible columns and rows alone."""

import os
import tempfile
import unittest

import duckdb
from table_rule import read_ruled_table

ORDERS = "owner,region,amount,cost\nann,东,\"1,200.50\",7\nbob,西,300,8\nann,西,5,9\n合计,,\"1,505.50\",24\n"
RULE = {"table": "orders", "source": "sales.csv", "sheet": None, "sql": None, "rows": None, "user": "ann",
        "tenant": "acme", "hidden": [], "sampled": [], "known": []}


class TableRule(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        with open("orders.csv", "w", encoding="utf-8") as file:
            file.write(ORDERS)

    def read(self, **changes):
        return read_ruled_table("orders.csv", "orders.csv", RULE | changes)

    def rows(self, **changes):
        found = self.read(**changes)
        self.assertEqual(found["problem"], "", found)
        [table] = found["tables"]
        self.assertEqual(sorted(os.listdir()), sorted(["orders.csv", table["parquet"]]))
        rows = duckdb.sql(f"SELECT * FROM read_parquet('{table['parquet']}')").fetchall()
        self.assertEqual(table["rows"], len(rows))
        os.remove(table["parquet"])
        return [column["name"] for column in table["columns"]], rows

    def test_without_rules_the_table_is_that_of_the_file(self):
        names, rows = self.rows()
        self.assertEqual((names, len(rows)), (["owner", "region", "amount", "cost"], 3))
        self.assertEqual(self.read()["tables"][0]["table"], "orders")

    def test_hidden_columns_and_rows_of_others_are_not_in_the_data(self):
        names, rows = self.rows(hidden=["COST", "owner"], rows="owner = {user}")
        self.assertEqual((names, sorted(row[0] for row in rows)), (["region", "amount"], ["东", "西"]))

    def test_every_caller_has_its_rows_alone_whatever_the_table_and_the_condition(self):
        people = [(tenant, user) for tenant in ("acme", "beta", "a'b") for user in ("ann", "bob", "{tenant}")]
        lines = [f"\"{tenant}\",\"{user}\",{place}\n" for place, (tenant, user) in enumerate(people * 2)]
        with open("orders.csv", "w", encoding="utf-8") as file:
            file.write("tenant,owner,place\n" + "".join(lines))
        conditions = {
            None: lambda *_: True,
            "owner = {user}": lambda caller, row: row[1] == caller[1],
            "tenant = {tenant}": lambda caller, row: row[0] == caller[0],
            "owner = {user} AND tenant = {tenant}": lambda caller, row: row == caller,
            "tenant <> {tenant} OR owner = {user}": lambda caller, row: row[0] != caller[0] or row[1] == caller[1],
        }
        for number, (rows, is_own) in enumerate(conditions.items()):
            sql = "SELECT * FROM sales WHERE place < 14" if number % 2 else None
            for caller in [*people, ("gamma", "eve")]:
                with self.subTest(sql=sql, rows=rows, caller=caller):
                    expected = [place for place, row in enumerate(people * 2)
                                if is_own(caller, row) and (sql is None or place < 14)]
                    names, found = self.rows(sql=sql, rows=rows, tenant=caller[0], user=caller[1], hidden=["owner"])
                    self.assertEqual((names, sorted(row[1] for row in found)), (["tenant", "place"], expected))

    def test_description_and_notes_have_no_values_of_others(self):
        [table] = self.read(hidden=["cost"], rows="owner = {user}", user="bob")["tables"]
        samples = {column["name"]: column["samples"] for column in table["columns"]}
        self.assertEqual(samples, {"owner": ["bob"], "region": ["西"], "amount": ["300"]})
        self.assertNotIn("1,505.50", f"{table['notes']}")
        self.assertIn("total_rows", f"{table['notes']}")

    def test_name_of_a_user_is_a_value_and_never_sql(self):
        for user in ("' OR true --", "ann' OR '1'='1", "{tenant}", "\\' OR true --", "$1", "x"):
            with self.subTest(user):
                self.assertEqual(self.rows(rows="owner = {user} AND {tenant} = 'acme'", user=user)[1], [])
        self.assertEqual(len(self.rows(rows="owner = {user} -- a comment")[1]), 2)

    def test_view_is_a_query_over_the_tables_of_the_file(self):
        sql = 'SELECT owner, region AS 地区, sum(amount) AS 金额 FROM sales GROUP BY ALL -- a comment'
        names, rows = self.rows(sql=sql, rows="owner = {user}", hidden=["owner"])
        self.assertEqual((names, {region: float(amount) for region, amount in rows}),
                         (["地区", "金额"], {"东": 1200.5, "西": 5.0}))

    def test_rule_that_does_not_fit_the_file_is_a_problem_and_no_table(self):
        for changes, words in (({"hidden": ["costs"]}, "no column costs"), ({"known": ["x"]}, "no column x"),
                               ({"sampled": ["x"]}, "no column x"), ({"rows": "ownr = {user}"}, "ownr"),
                               ({"rows": "true) UNION SELECT ("}, "Error"), ({"sql": "SELECT * FROM other"}, "other"),
                               ({"sql": "DELETE FROM sales"}, "yntax"), ({"sheet": "x"}, "no sheet x"),
                               ({"hidden": ["owner", "region", "amount", "cost"]}, "every column is hidden")):
            with self.subTest(changes):
                found = self.read(**changes)
                self.assertEqual((found["tables"], found["problem"]), ([], "broken_rule"))
                self.assertIn(words, found["detail"])
                self.assertEqual(os.listdir(), ["orders.csv"])

    def test_values_of_a_column_with_many_are_shown_if_the_file_says_so(self):
        with open("orders.csv", "w", encoding="utf-8") as file:
            file.write("name\n" + "".join(f"n{number}\n" for number in range(60)))
        samples = [len(self.read(sampled=sampled)["tables"][0]["columns"][0]["samples"]) for sampled in ([], ["name"])]
        self.assertEqual(samples, [0, 12])


if __name__ == "__main__":
    unittest.main()
