"""Generated queries: each has the columns that the engine reports, or is rejected with a code."""

import json
import os
import random
import tempfile
import unittest

import duckdb
from engine import open_engine
from read_tables import kind_of_type
from run_queries import run_queries

COLUMNS = {"orders": {"id": "integer", "region": "text", "day": "date", "amount": "decimal", "客户": "integer"},
           "items": {"order_id": "integer", "sku": "text", "qty": "integer", "is_gift": "boolean"}}
DATA = {
    "orders": "SELECT range AS id, ['East', 'West', 'N\u2019'][1 + range % 3] AS region, DATE '2024-01-01' + range::INTEGER AS day, "
              "(range * 1.25)::DECIMAL(9, 2) AS amount, range % 4 AS 客户 FROM range(30)",
    "items": "SELECT range // 2 AS order_id, 'S' || range % 5 AS sku, range % 3 + 1 AS qty, range % 7 = 0 AS is_gift "
             "FROM range(60)",
}
# Of these a query may have none.
WRONG = ["nothing", "orders.x", "getenv('HOME')", "nextval('s')", "?", "sum(amount", "region + day"]


class Generator:
    """Writes queries over `COLUMNS` from a seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def choose(self, *options):
        return self.random.choice(options)

    def is_drawn(self, share):
        return self.random.random() < share

    def column(self, names, *kinds):
        fitting = [name for name, kind in names.items() if not kinds or kind in kinds]
        return self.random.choice(fitting) if fitting else "1"

    def value(self, names):
        if self.is_drawn(0.02):
            return self.random.choice(WRONG)
        number, text = self.column(names, "integer", "decimal"), self.column(names, "text")
        return self.choose(
            self.column(names), number, f"round({number} / 3, 1)", f"{number} * 2 - 1", f"upper({text})", f"{text} || 'x'",
            f"CASE WHEN {number} > 3 THEN {text} ELSE 'low' END", f"coalesce({number}, 0)", f"CAST({number} AS VARCHAR)",
            f"date_trunc('month', {self.column(names, 'date')})" if "date" in names.values() else "7",
            f"row_number() OVER (ORDER BY {number})", f"lag({number}) OVER (PARTITION BY {text} ORDER BY {number})")

    def total(self, names):
        number = self.column(names, "integer", "decimal")
        return self.choose("count(*)", f"sum({number})", f"avg({number})", f"max({self.column(names)})", f"median({number})",
                           f"count(DISTINCT {self.column(names)})", f"sum({number}) / count(*)",
                           f"sum({number}) FILTER (WHERE {number} > 2)")

    def condition(self, names):
        number, text = self.column(names, "integer", "decimal"), self.column(names, "text")
        return self.choose(f"{number} > 2", f"{text} = 'East'", f"{text} IN ('East', 'S1')", f"{number} BETWEEN 1 AND 20",
                           f"{text} LIKE 'S%' OR {number} < 5", f"{number} IS NOT NULL", f"NOT {number} = 3",
                           f"{number} IN (SELECT order_id FROM items)", f"{number} > 1000")

    def source(self, depth):
        """Returns what follows FROM, and the names of its columns."""
        drawn = self.random.random()
        if depth and drawn < 0.25:
            inner, names = self.select(depth - 1)
            return f"({inner}) AS inner_{depth}", names
        if drawn < 0.5:
            join = self.choose("JOIN", "LEFT JOIN", "FULL JOIN")
            return f"orders AS o {join} items AS i ON o.id = i.order_id", COLUMNS["orders"] | COLUMNS["items"]
        table = self.choose("orders", "items")
        return table, COLUMNS[table]

    def select(self, depth):
        """Returns a query, and the kinds of its named columns, of which numbers are known."""
        source, names = self.source(depth)
        distinct = self.choose("", "", "", "DISTINCT ")
        where = f" WHERE {self.condition(names)}" if self.is_drawn(0.5) else ""
        drawn = self.random.random()
        if drawn < 0.15:
            return f"SELECT {distinct}* FROM {source}{where}", names
        count = self.random.randint(1, 4)
        if drawn < 0.55:
            listed = [(self.value(names), f"v{place}" if self.is_drawn(0.7) else "") for place in range(count)]
            text = ", ".join(f"{value} AS {name}" if name else value for value, name in listed)
            return f"SELECT {distinct}{text} FROM {source}{where}", {name: "unknown" for _, name in listed if name} or {"1": "integer"}
        keys = [self.column(names) for _ in range(self.random.randint(0, 2))]
        totals = [f"{self.total(names)} AS t{place}" for place in range(count)]
        group = " GROUP BY ALL" if keys else ""
        having = " HAVING count(*) > 1" if keys and self.is_drawn(0.2) else ""
        listed = [f"{key} AS k{place}" for place, key in enumerate(keys)] + totals
        return f"SELECT {', '.join(listed)} FROM {source}{where}{group}{having}", {f"t{place}": "unknown" for place in range(count)}

    def query(self):
        body, _ = self.select(2)
        if self.is_drawn(0.2):
            body = f"WITH x AS ({body}) SELECT * FROM x"
        if self.is_drawn(0.1):
            body = f"{body} UNION ALL {body}"
        return body + self.choose("", " ORDER BY 1", " ORDER BY 1 DESC", " LIMIT 5", " ORDER BY ALL LIMIT 3", ";")


class GeneratedQueries(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        self.engine = open_engine()
        self.addCleanup(self.engine.close)
        self.tables = []
        for name, columns in COLUMNS.items():
            duckdb.sql(DATA[name]).write_parquet(f"{name}.parquet")
            self.engine.execute(f"CREATE TABLE {name} AS SELECT * FROM '{name}.parquet'")
            self.tables.append({"name": name, "parquet": f"{name}.parquet",
                                "columns": [{"name": column, "type": kind} for column, kind in columns.items()]})

    def test_each_has_the_columns_that_the_engine_reports_or_is_rejected(self):
        queries = [Generator(seed).query() for seed in range(200)]
        results = run_queries(self.tables, [{"question": "", "sql": sql} for sql in queries], queries, 3_600)["results"]
        ran = 0
        for sql, result in zip(queries, results):
            with self.subTest(sql):
                try:
                    relation = self.engine.execute(sql).description
                except duckdb.Error:
                    relation = None
                if "error" in result:
                    # The check rejects what the engine might run, and never the other way round.
                    self.assertTrue(relation is None or result["error"]["code"] in ("function", "parameter"), result["error"])
                    continue
                ran += 1
                self.assertIsNotNone(relation)
                self.assertEqual([(column["name"], column["type"]) for column in result["columns"]],
                                 [(name, kind_of_type(f"{kind}")) for name, kind, *_ in relation])
                self.assertEqual(len({column["key"].casefold() for column in result["columns"]}), len(relation))
                self.check_facts(result["columns"])
                self.assertTrue(all(len(row) == len(relation) for row in json.loads(result["rows"])))
        self.assertGreater(ran, 150)

    def check_facts(self, columns):
        for column in columns:
            if "column" in column:
                kind = COLUMNS[column["table"]][column["column"]]
                counts = column.get("aggregate", "").startswith("count")
                self.assertTrue(counts or not column["type"] == "boolean" or kind == "boolean", column)
            self.assertIn(column.get("role"), (None, "dimension", "measure"))


if __name__ == "__main__":
    unittest.main()
