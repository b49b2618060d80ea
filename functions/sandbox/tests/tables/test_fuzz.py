"""Changed queries and files: each gives a result or an error with a code, and no other exception.

`DJINN_FUZZ_SECONDS` sets the time of each test; without it a few changes are tried, always the same.
"""

import json
import os
import random
import tempfile
import time
import tomllib
import unittest
from pathlib import Path

import duckdb
import openpyxl
from check_postgres import check_postgres
from check_sql import SqlError, check_sql
from read_tables import read_tables
from run_queries import run_queries
from test_check_postgres import TABLES as DATABASE_TABLES
from test_check_sql import GOOD, HOSTILE, NESTED
from test_check_sql import TABLES as TABLE_NAMES
from test_column_types import COLUMNS
from test_read_tables import JSONS, TEXTS

CASES = tomllib.loads((Path(__file__).parent / "postgres.toml").read_text("utf-8"))
QUERY_WORDS = ["SELECT ", " FROM orders", " WHERE ", "(", ")", "'", '"', ";", "--", "/*", "*/", "$1", "?", "\\", "::", "WITH x AS (",
               "UNION ", "READ_CSV('/etc/passwd')", "pg_sleep(1)", "E'", "$$", "OVER (", "{", "}", "[", "]", "\u2028", "\0", "客户"]
CELL_WORDS = [",", ";", "\t", "\n", "\r\n", '"', '""', "合计", "1.234,5", "1,200.50", "03/04/2024", "2024年1月", "12%", "€ 5", "N/A",
              "\ufeff", "\0", "sep=;", "007", "1e999", "NaN", "-", "[", "{", "}", ":", "😀", "9" * 40]
PROBLEMS = {"", "too_large", "too_many_columns", "encrypted", "broken", "no_table", "no_text"}


class Mutator:
    """Changes items of a corpus: cuts, repeats, joins and inserts words."""

    def __init__(self, seed, words):
        self.random, self.words = random.Random(seed), words

    def change(self, corpus):
        item = self.random.choice(corpus)
        for _ in range(self.random.randint(1, 4)):
            first, last = sorted(self.random.randint(0, len(item)) for _ in range(2))
            other = self.random.choice(corpus)
            word = self.random.choice(self.words)
            item = self.random.choice([
                item[:first] + item[last:], item[:first] + word + item[first:], item[:last] + item[first:],
                item[:first] + other[self.random.randint(0, len(other)):], item[:first] + word + item[last:]])[:20_000]
        return item


class Fuzz(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        self.seconds = float(os.environ.get("DJINN_FUZZ_SECONDS", 0))

    def list_changes(self, corpus, words, count):
        """Yields changed items: `count`, or for the time that was set. A failure names the seed."""
        seed = random.randrange(10**9) if self.seconds else 17
        mutator, end, done = Mutator(seed, words), time.monotonic() + self.seconds, 0
        while done < count or time.monotonic() < end:
            item = mutator.change(corpus)
            done += 1
            try:
                yield item
            except GeneratorExit:
                print(f"seed {seed}, change {done}: {item!r}")
                raise
        print(f"{self.id().rpartition('.')[2]}: {done} changes, seed {seed}")

    def test_changed_queries_are_checked_or_rejected(self):
        duckdb.sql("SELECT 1 AS a, 2 AS b, 3 AS id, DATE '2024-01-01' AS d").write_parquet("orders.parquet")
        table = {"name": "orders", "parquet": "orders.parquet", "columns": [{"name": "a", "type": "integer"}]}
        corpus = [*GOOD, *(sql for sql, _ in HOSTILE if len(sql) < 1_000), *NESTED]
        for sql in self.list_changes(corpus, QUERY_WORDS, 150):
            try:
                check_sql(sql, TABLE_NAMES)
            except SqlError as error:
                json.dumps(error.to_json())
            [result] = run_queries([table], [{"question": "", "sql": sql}], [], 2)["results"]
            json.dumps(result)
            self.assertTrue("error" in result or result["columns"], result)
            written = {name for name in os.listdir() if name != "orders.parquet"}
            self.assertLessEqual(written, {"query-1.csv"})

    def test_changed_queries_for_postgres_are_written_the_same_again_or_rejected(self):
        corpus = [*CASES["queries"], *(sql for _, sql in CASES["statements"])]
        for sql in self.list_changes(corpus, QUERY_WORDS, 400):
            try:
                checked = check_postgres(sql, DATABASE_TABLES)
            except SqlError as error:
                json.dumps(error.to_json())
                continue
            self.assertEqual(check_postgres(checked.text, DATABASE_TABLES).text, checked.text)
            self.assertLessEqual(set(checked.tables), {table["name"] for table in DATABASE_TABLES})

    def check_file(self, name, content):
        Path(name).write_bytes(content)
        found = read_tables(name, name)
        json.dumps(found)
        self.assertIn(found["problem"], PROBLEMS)
        self.assertEqual(bool(found["tables"]), not found["problem"])
        for table in found["tables"]:
            if table["parquet"]:
                relation = duckdb.sql(f"SELECT * FROM '{table['parquet']}'")
                self.assertEqual(relation.columns, [column["name"] for column in table["columns"]])
                self.assertEqual(len(relation.fetchall()), table["rows"])
                os.remove(table["parquet"])

    def test_changed_texts_become_tables_or_have_a_problem(self):
        corpus = [text for text, *_ in TEXTS.values()] + ["a\n" + "\n".join(f"{cell or ''}" for cell in cells) for cells, *_ in COLUMNS]
        for text in self.list_changes(corpus, CELL_WORDS, 60):
            for encoding in ("utf-8", "gb18030"):
                self.check_file("a.csv", text.encode(encoding, "replace"))

    def test_changed_json_becomes_a_table_or_has_a_problem(self):
        for text in self.list_changes([text for text, *_ in JSONS.values()], CELL_WORDS, 60):
            self.check_file("a.json", text.encode("utf-8", "replace"))

    def test_changed_bytes_of_workbooks_and_parquet_have_a_problem_or_are_read(self):
        book = openpyxl.Workbook()
        for row in (["a", "b"], ["x", 1], ["y", 2.5]):
            book.active.append(row)
        book.save("book.xlsx")
        duckdb.sql("SELECT range AS a, 'x' || range AS b FROM range(50)").write_parquet("data.parquet")
        corpora = {name: Path(name).read_bytes().decode("latin-1") for name in ("book.xlsx", "data.parquet")}
        for name, text in corpora.items():
            for item in self.list_changes([text], ["\0", "\xff" * 8, "PK", "PAR1"], 25):
                self.check_file(name, item.encode("latin-1"))


if __name__ == "__main__":
    unittest.main()
