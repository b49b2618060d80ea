"""Public data sets of all kinds: each has the rows and the sums that pandas reads, or a reason.

`cargo soak --only datasets` installs them and sets `VEGA_DATASETS`; they are never part of an archive.
"""

import json
import math
import os
import tempfile
import unittest
from pathlib import Path

import duckdb
from read_tables import read_tables

FOLDER = os.environ.get("VEGA_DATASETS")
KINDS = (".csv", ".tsv", ".json", ".parquet")
# Notes about rows that pandas reads as data.
LEFT_OUT = ("title_rows", "blank_rows", "footer_rows", "total_rows", "subtotal_rows", "second_table", "rows_with_more_fields",
            "repeated_headers", "items_without_fields")


def read_with_pandas(path):
    """Returns the table that pandas reads, or None for a document without a list of records."""
    import pandas

    if path.suffix == ".parquet":
        return duckdb.sql(f"SELECT * FROM '{path}'").df()
    if path.suffix != ".json":
        return pandas.read_csv(path, sep="\t" if path.suffix == ".tsv" else ",", low_memory=False)
    value = json.loads(path.read_text("utf-8"))
    return pandas.json_normalize(value) if isinstance(value, list) and value and isinstance(value[0], dict) else None


@unittest.skipUnless(FOLDER, "needs the data sets: cargo soak --only datasets")
class DataSets(unittest.TestCase):
    def test_each_has_the_rows_and_sums_of_pandas_or_a_reason(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        paths = sorted(path for path in Path(FOLDER).rglob("*") if path.suffix in KINDS)
        equal, reasons = 0, []
        for path in paths:
            with self.subTest(path.name):
                found = read_tables(str(path), path.name)
                if found["problem"]:
                    reasons.append(f"{path.name}: {found['problem']}")
                    continue
                expected = read_with_pandas(path)
                if expected is None:
                    continue
                [table] = found["tables"]
                left_out = sum(note.get("count") or 0 for note in table["notes"] if note["code"] in LEFT_OUT)
                self.assertIn(len(expected), (table["rows"], table["rows"] + left_out), table["notes"])
                if not left_out:
                    self.check_sums(table, expected)
                equal += 1
        print(f"{len(paths)} data sets: {equal} as pandas reads them; {', '.join(reasons)}")
        self.assertGreater(equal, 40)

    def check_sums(self, table, expected):
        for column in table["columns"]:
            name = column["name"]
            if column["type"] not in ("integer", "decimal", "number") or name not in expected or expected[name].dtype.kind not in "if":
                continue
            quoted = name.replace('"', '""')
            [(total,)] = duckdb.sql(f"SELECT sum(\"{quoted}\") FROM '{table['parquet']}'").fetchall()
            wanted = float(expected[name].sum())
            self.assertTrue(math.isclose(float(total or 0), wanted, rel_tol=1e-9, abs_tol=1e-6), (name, total, wanted))


if __name__ == "__main__":
    unittest.main()
