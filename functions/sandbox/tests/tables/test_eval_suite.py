"""The questions about tables of `cargo xtask eval`: the query of each has the facts."""

import json
import os
import tempfile
import tomllib
import unittest
from pathlib import Path

from read_tables import read_tables
from run_queries import run_queries

ROOT = Path(__file__).parents[4]
QUESTIONS = tomllib.loads((ROOT / "examples/eval/data.toml").read_text("utf-8"))["question"]


class EvalSuite(unittest.TestCase):
    def test_query_of_each_question_has_its_facts(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        tables = []
        for file in sorted({file for question in QUESTIONS for file in question["files"]}):
            path = ROOT / file
            [table] = read_tables(str(path), path.name)["tables"]
            tables.append({"name": table["table"], "parquet": table["parquet"], "columns": table["columns"]})
        queries = [{"question": question["ask"], "sql": question["sql"]} for question in QUESTIONS]
        results = run_queries(tables, queries, [], 3_600)["results"]
        self.assertEqual(len(results), 40)
        for question, result in zip(QUESTIONS, results):
            with self.subTest(question["name"]):
                self.assertNotIn("error", result)
                self.assertEqual(result["notes"], [])
                [*rows] = json.loads(result["rows"])
                values = {f"{cell}".removesuffix(".0").casefold() for row in rows for cell in row}
                for spellings in question["facts"]:
                    self.assertTrue(any(spelling.replace(",", "").casefold() in values for spelling in spellings),
                                    (spellings, values))


if __name__ == "__main__":
    unittest.main()
