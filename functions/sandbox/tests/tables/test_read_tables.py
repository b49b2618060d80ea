"""Files as tables: the values in Parquet, and notes of everything left out or changed."""

import io
import json
import os
import tempfile
import unittest
import zipfile
from pathlib import Path

import duckdb
import local_time
import openpyxl
from read_tables import read_tables

CASES = Path(__file__).parents[1] / "jail/cases"

# A text, the names and types of the columns, the rows as the tables have them, and the codes of the notes with counts.
TEXTS = {
    "plain": ("a,b\nx,1\ny,2\n", ["a text", "b integer"], [("x", 1), ("y", 2)], {}),
    "semicolons": ("a;b\nx;1,5\ny;2,25\n", ["a text", "b decimal"], [("x", "1.50"), ("y", "2.25")], {}),
    "tabs": ("a\tb\nx\t1\n", ["a text", "b integer"], [("x", 1)], {}),
    "bars": ("a|b\nx|1\ny|2\n", ["a text", "b integer"], [("x", 1), ("y", 2)], {}),
    "separator line": ("sep=;\na;b\nx;1\ny;2\n", ["a text", "b integer"], [("x", 1), ("y", 2)], {}),
    "mark of the encoding": ("\ufeffa,b\nx,1\n", ["a text", "b integer"], [("x", 1)], {}),
    "windows lines": ("a,b\r\nx,1\r\n", ["a text", "b integer"], [("x", 1)], {}),
    "quoted": ('a,b\n"x, ""y""\nz","1,200"\n"","1,200.5"\n', ["a text", "b decimal"],
               [('x, "y"\nz', "1200.0"), (None, "1200.5")], {}),
    "unclosed quote": ('a,b\n1,"x\n2,y\n3,z\n', ["a integer", "b text"], [(1, '"x'), (2, "y"), (3, "z")], {}),
    "excel text": ('a,b\n="007",1\n="8",2\n', ["a text", "b integer"], [("007", 1), ("8", 2)], {"stays_text": None}),
    "title": ("季度报表,,\n制表：张三,,\n地区,一月,二月\n华东,1,2\n华北,3,4\n", ["地区 text", "一月 integer", "二月 integer"],
              [("华东", 1, 2), ("华北", 3, 4)], {"title_rows": 2}),
    "narrow title": ("报表,\n地区,金额\n华东,1\n华北,3\n", ["地区 text", "金额 integer"], [("华东", 1), ("华北", 3)],
                     {"title_rows": 1}),
    "blank rows": ("a,b\n\nx,1\n,\ny,2\n", ["a text", "b integer"], [("x", 1), ("y", 2)], {"blank_rows": 2}),
    "total by name": ("a,b\nx,1\ny,2\n合计,9\n", ["a text", "b integer"], [("x", 1), ("y", 2)], {"total_rows": 1}),
    "total with unit": ("a,b\nx,1\ny,2\n合计（元）：,3\n", ["a text", "b integer"], [("x", 1), ("y", 2)], {"total_rows": 1}),
    "total by sums": ("a,b,c\nx,1,1.5\ny,2,2.5\n,3,4\n", ["a text", "b integer", "c decimal"],
                      [("x", 1, "1.5"), ("y", 2, "2.5")], {"total_rows": 1}),
    "no total by other sums": ("a,b\nx,1\ny,2\n,4\n", ["a text", "b integer"], [("x", 1), ("y", 2), (None, 4)], {}),
    "two totals": ("a,b\nx,1\ny,2\n小计,3\n总计,3\n", ["a text", "b integer"], [("x", 1), ("y", 2)], {"total_rows": 2}),
    "totals between": ("a,b\nx,1\ny,2\n小计,3\nz,5\nw,6\n小计,11\n合计,14\n", ["a text", "b integer"],
                       [("x", 1), ("y", 2), ("z", 5), ("w", 6)], {"total_rows": 2, "subtotal_rows": 1}),
    "a name like a total": ("a,b\nTotal,7\nShell,2\nBP,3\n", ["a text", "b integer"], [("Total", 7), ("Shell", 2), ("BP", 3)],
                            {"possible_total_rows": 1}),
    "footer": ("a,b,c\nx,1,2\ny,3,4\n制表人：李四,,\n", ["a text", "b integer", "c integer"], [("x", 1, 2), ("y", 3, 4)],
               {"footer_rows": 1}),
    "groups above names": ("地区,一季度,,二季度,\n,销售额,成本,销售额,成本\n华东,1,2,3,4\n",
                           ["地区 text", "一季度 销售额 integer", "一季度 成本 integer", "二季度 销售额 integer",
                            "二季度 成本 integer"], [("华东", 1, 2, 3, 4)], {"header_rows_joined": 2}),
    "same names": ("a,A,a,a_2\n1,2,3,4\n", ["a integer", "A_3 integer", "a_4 integer", "a_2 integer"], None,
                   {"renamed_columns": 2}),
    "names missing": ("a,,c\n1,2,3\n", ["a integer", "column_2 integer", "c integer"], [(1, 2, 3)], {"unnamed_columns": 1}),
    "empty columns": ("a,,b\n1,,2\n3,,4\n", ["a integer", "b integer"], [(1, 2), (3, 4)], {"empty_columns": 1}),
    "no header": ("华东,100,2024-01-01\n华北,200,2024-01-02\n", ["column_1 text", "column_2 integer", "column_3 date"],
                  [("华东", 100, "2024-01-01"), ("华北", 200, "2024-01-02")], {"no_header": 1, "unnamed_columns": 3}),
    "years as names": ("地区,2023,2024\n华东,1,2\n华北,3,4\n", ["地区 text", "2023 integer", "2024 integer"],
                       [("华东", 1, 2), ("华北", 3, 4)], {}),
    "more fields": ("a,b\nx,1\ny,1,200\nz,3\n", ["a text", "b integer"], [("x", 1), ("z", 3)], {"rows_with_more_fields": 1}),
    "fewer fields": ("a,b,c\nx,1,2\ny,3\nz,4,5\n", ["a text", "b integer", "c integer"],
                     [("x", 1, 2), ("y", 3, None), ("z", 4, 5)], {"rows_with_fewer_fields": 1}),
    "repeated header": ("a,b\nx,1\na,b\ny,2\n", ["a text", "b integer"], [("x", 1), ("y", 2)], {"repeated_headers": 1}),
    "second table": ("a,b\nx,1\ny,2\n\nname,size\nz,9\nw,8\n", ["a text", "b integer"], [("x", 1), ("y", 2)],
                     {"second_table": 3, "blank_rows": 1}),
    "missing words": ("a,b\nN/A,N/A\ny,2\n", ["a text", "b integer"], [("N/A", None), ("y", 2)], {"missing_words": 1}),
    "undecided dates": ("a,d\nx,03/04/2024\ny,05/06/2024\n", ["a text", "d text"], [("x", "03/04/2024"), ("y", "05/06/2024")],
                        {"stays_text": None}),
    "marks of a neighbour": ("a;b\n1.234;1.234,50\n5.678;7\n", ["a integer", "b decimal"],
                             [(1234, "1234.50"), (5678, "7.00")], {}),
    "marks open": ("a;b\n1.234;x\n5.678;y\n", ["a text", "b text"], [("1.234", "x"), ("5.678", "y")], {"stays_text": None}),
    "marks that differ": ("a;b;c\n1.234,5;1,234.5;1.234\n2;3;5.678\n", ["a decimal", "b decimal", "c text"],
                          [("1234.5", "1234.5", "1.234"), ("2.0", "3.0", "5.678")], {"stays_text": None}),
}

JSONS = {
    "a list": ('[{"a": 1, "b": {"c": 0.1}}, {"a": 2, "d": [1]}]', ["a integer", "b.c decimal", "d text"],
               [(1, "0.1", None), (2, None, "[1]")]),
    "a list in an object": ('{"total": 2, "data": [{"a": "x"}, {"a": "y"}]}', ["a text"], [("x",), ("y",)]),
    "lines": ('{"a": 1}\n{"a": 2}\n', ["a integer"], [(1,), (2,)]),
    "large numbers": ('[{"a": 9007199254740993}, {"a": 1}]', ["a integer"], [(9007199254740993,), (1,)]),
    "no numbers": ('[{"a": NaN, "b": 1}, {"a": 2, "b": 3}]', ["a integer", "b integer"], [(None, 1), (2, 3)]),
}


def broken_archive():
    """Returns a workbook whose compressed bytes are broken."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("xl/workbook.xml", "<workbook/>" * 99)
    before, name, after = archive.getvalue().partition(b"workbook.xml")
    return before + name + b"\xff\xff" + after[2:]


# Contents that are no tables, their names, and the problem.
PROBLEMS = [
    ("a.xlsx", broken_archive(), "broken"),
    ("a.csv", b"", "no_table"), ("a.csv", b"just a sentence\n", "no_table"), ("a.csv", b"<html><td>a</td></html>", "no_table"),
    ("a.json", b'{"a": [', "broken"), ("a.json", b"[1, 2]", "no_table"), ("a.json", b"[" * 100_000, "broken"),
    ("a.json", b'{"a": [{"x": 1}], "b": [{"y": 1}]}', "no_table"),
    ("a.parquet", b"PAR1 and nothing else PAR1", "broken"), ("a.xlsx", b"PK\x03\x04 broken", "broken"),
    ("a.xlsx", bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600), "encrypted"), ("a.pdf", b"%PDF-1.7", "no_table"),
    ("a.png", b"\x89PNG" + bytes(20), "no_table"), ("a.csv", b"\x00\x01\x02" * 99, "no_text"),
    ("a.csv", ",".join(f"c{number}" for number in range(10_000)).encode() + b"\n" + b",".join([b"1"] * 10_000),
     "too_many_columns"),
    ("a.json", json.dumps([dict.fromkeys(map(str, range(1_001)), 1)]).encode(), "too_many_columns"),
    ("a.json", b"a,b\n1,2\n", "broken"), ("a.csv", b"[[1, 2]]", "no_table"), ("a.csv", b"[1, 2]\n[3, 4]\n", "no_table"),
    ("a.json", b"[" + b"1" * 5_000 + b"]", "broken"), ("a.json", b"{}\n" + b"[" * 100_000, "broken"),
]


class ReadTables(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def read(self, name, content):
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        found = read_tables(name, name)
        json.dumps(found)
        return found

    def rows(self, table):
        query = f"SELECT * FROM '{table['parquet']}'"
        return [tuple(value if value is None or isinstance(value, (int, str)) else f"{value}" for value in row)
                for row in duckdb.sql(query).fetchall()]

    def check(self, found, columns, rows, notes):
        self.assertEqual(found["problem"], "")
        [table] = found["tables"]
        self.assertEqual([f"{column['name']} {column['type']}" for column in table["columns"]], columns)
        if rows is not None:
            self.assertEqual(self.rows(table), rows)
            self.assertEqual(table["rows"], len(rows))
        if notes is not None:
            self.assertEqual({note["code"]: note.get("count") for note in table["notes"]}, notes)

    def test_texts_become_tables_and_what_is_left_out_is_counted(self):
        for name, (text, columns, rows, notes) in TEXTS.items():
            with self.subTest(name):
                self.check(self.read("a.csv", text), columns, rows, notes)

    def test_objects_of_json_become_rows(self):
        for name, (text, columns, rows) in JSONS.items():
            with self.subTest(name):
                self.check(self.read("a.json", text), columns, rows, {})

    def test_json_in_the_first_cell_is_a_text(self):
        for cell in ('{"id":1}', "[1]", '[{"a":', "{x}"):
            with self.subTest(cell):
                found = self.read("a.csv", f"{cell},n\nx,1\ny,2\n")
                self.check(found, [f"{cell} text", "n integer"], [("x", 1), ("y", 2)], {})

    def test_text_is_read_in_its_encoding(self):
        text = "城市,销售额,备注\n北京,1200,老客户\n上海,900,新客户\n"
        for encoding in ("utf-8", "utf-8-sig", "gb18030", "gbk", "utf-16", "utf-16-le"):
            with self.subTest(encoding):
                found = self.read("a.csv", text.encode(encoding))
                self.check(found, ["城市 text", "销售额 integer", "备注 text"],
                           [("北京", 1200, "老客户"), ("上海", 900, "新客户")], {})
                self.assertEqual([note["code"] for note in found["notes"]], [] if encoding.startswith("utf-8") else ["encoding"])

    def test_other_files_have_a_problem(self):
        for name, content, problem in PROBLEMS:
            with self.subTest(name=name, content=content[:20]):
                found = self.read(name, content)
                self.assertEqual((found["problem"], found["tables"]), (problem, []))

    def test_content_counts_and_not_the_name(self):
        book = openpyxl.Workbook()
        for row in (["a", "b"], ["x", 1]):
            book.active.append(row)
        book.save("book")
        duckdb.sql("COPY (SELECT 'x' AS a, 1 AS b) TO 'data' (FORMAT parquet)")
        for names, content in ((("a.csv", "a.json", "a.parquet"), Path("book").read_bytes()),
                               (("a.csv", "a.xlsx"), Path("data").read_bytes()),
                               (("a.xlsx", "a.parquet", "a.tsv"), "a,b\nx,1\n"),
                               (("a.csv", "a.xlsx"), '[\n {"a": "x", "b": 1}\n]')):
            for name in names:
                with self.subTest(name=name, content=content[:10]):
                    self.check(self.read(name, content), ["a text", "b integer"], [("x", 1)], {})

    def test_file_above_a_limit_is_too_large_or_has_too_many_columns(self):
        rows = 50_000_000
        self.assertEqual(self.read("a.csv", b"a,b\n" + b"1,2\n" * rows)["problem"], "too_large")
        for size, problem in ((f"CAST(0 AS TINYINT) AS a FROM range({rows * 4})", "too_large"),
                              (", ".join(f"1 AS c{number}" for number in range(1_001)), "too_many_columns")):
            duckdb.sql(f"COPY (SELECT {size}) TO 'a.parquet' (FORMAT parquet)")
            self.assertEqual(read_tables("a.parquet", "a.parquet")["problem"], problem)
        book = openpyxl.Workbook()
        book.active.append([f"c{number}" for number in range(1_001)])
        book.active.append([1] * 1_001)
        book.save("a.xlsx")
        self.assertEqual(read_tables("a.xlsx", "a.xlsx")["problem"], "too_many_columns")

    def test_zip_bomb_is_too_large(self):
        with zipfile.ZipFile("a.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("xl/workbook.xml", bytes(300_000_000))
        self.assertEqual(read_tables("a.xlsx", "a.xlsx")["problem"], "too_large")

    def test_workbook_with_titles_merged_headers_hidden_sheets_and_totals(self):
        book = openpyxl.Workbook()
        sheet = book.active
        sheet.title = "销售"
        for row in [["2024年销售报表"], ["地区", "一季度", None, "二季度", None], [None, "销售额", "成本", "销售额", "成本"],
                    ["华东", 10, 4, 20, 5.5], [None, 30, 6, 40, 7], ["华北", 1, 2, 3, 4], ["合计", 41, 12, 63, 16.5]]:
            sheet.append(row)
        for area in ("A1:E1", "A2:A3", "B2:C2", "D2:E2", "A4:A5"):
            sheet.merge_cells(area)
        hidden = book.create_sheet("备份")
        hidden.append(["a"])
        hidden.sheet_state = "hidden"
        book.create_sheet("空")
        book.save("b.xlsx")
        found = read_tables("b.xlsx", "b.xlsx")
        self.check(found, ["地区 text", "一季度 销售额 integer", "一季度 成本 integer", "二季度 销售额 integer",
                           "二季度 成本 decimal"],
                   [("华东", 10, 4, 20, "5.5"), ("华东", 30, 6, 40, "7.0"), ("华北", 1, 2, 3, "4.0")],
                   {"title_rows": 1, "header_rows_joined": 2, "merged_cells_filled": 1, "total_rows": 1})
        self.assertEqual(found["notes"], [{"code": "hidden_sheet", "name": "备份"}, {"code": "empty_sheet", "name": "空"}])
        self.assertEqual((found["tables"][0]["table"], found["tables"][0]["sheet"]), ("b", "销售"))

    def test_merged_number_is_counted_once_and_formulas_without_value_are_empty(self):
        book = openpyxl.Workbook()
        sheet = book.active
        for row in [["店", "奖金", "销售"], ["甲", 100, 1], ["乙", None, 2], ["丙", 50, "=C2+C3"]]:
            sheet.append(row)
        sheet.merge_cells("B2:B3")
        book.save("b.xlsx")
        found = read_tables("b.xlsx", "b.xlsx")
        self.check(found, ["店 text", "奖金 integer", "销售 integer"], [("甲", 100, 1), ("乙", None, 2), ("丙", 50, None)],
                   {"merged_numbers_kept_once": 1, "formulas_without_value": 1})

    def test_each_sheet_is_a_table_and_names_are_names_of_sql(self):
        book = openpyxl.Workbook()
        book.active.append(["a", "b"])
        book.active.append([1, 2])
        other = book.create_sheet("second sheet")
        other.append(["c", "d"])
        other.append([3, 4])
        book.save("2024 orders.xlsx")
        found = read_tables("2024 orders.xlsx", "2024 orders.xlsx")
        self.assertEqual([table["table"] for table in found["tables"]], ["t_2024_orders_Sheet", "t_2024_orders_second_sheet"])

    def test_parquet_is_read_with_its_types(self):
        duckdb.sql("SELECT 1 AS a, DATE '2024-01-05' AS b, [1, 2] AS c, 'x' AS d, 1.5::DECIMAL(9,2) AS e").write_parquet("p")
        content = Path("p").read_bytes()
        found = self.read("a.parquet", content)
        self.check(found, ["a integer", "b date", "c text", "d text", "e decimal"],
                   [(1, "2024-01-05", "[1, 2]", "x", "1.50")], {})

    def test_parquet_times_of_utc_become_times_of_the_zone(self):
        self.addCleanup(local_time.set_time_zone, local_time.UTC)
        duckdb.sql("SELECT TIMESTAMPTZ '2024-01-04 16:00:00+00' AS a, TIMESTAMP '2024-01-05 01:00:00' AS b").write_parquet("p")
        content = Path("p").read_bytes()
        for zone, time, reading in [("UTC", "2024-01-04 16:00:00", "utc"),
                                    ("Asia/Shanghai", "2024-01-05 00:00:00", "Asia/Shanghai")]:
            local_time.set_time_zone(zone)
            found = self.read("a.parquet", content)
            self.check(found, ["a timestamp", "b timestamp"], [(time, "2024-01-05 01:00:00")], {})
            self.assertEqual([column["readings"] for column in found["tables"][0]["columns"]], [[reading], []])

    def test_description_has_limits_samples_and_keys(self):
        rows = "".join(f"{number},{'NS'[number % 2]},2024-01-{number % 28 + 1:02}\n" for number in range(60))
        [table] = self.read("a.csv", f"id,side,day\n{rows}")["tables"]
        number, side, day = table["columns"]
        self.assertEqual((number["is_key"], number["min"], number["max"], number["samples"]), (True, 0, 59, []))
        self.assertEqual((side["is_key"], side["distinct"], side["samples"], side["min"]), (False, 2, ["N", "S"], None))
        self.assertEqual((day["min"], day["max"], len(day["samples"])), ("2024-01-01", "2024-01-28", 12))

    def test_real_files_have_the_right_sums(self):
        sums = {"titled.csv": ("一月", 15), "semicolon-decimal-comma.csv": ("Umsatz", "14221.66"),
                "alipay-like.csv": ("金额", "450.50"), "merged-dates-formula.xlsx": ("金额", "4800.5"),
                "stray-last-row.xlsx": ("列2", 2450), "far-cell.xlsx": ("a", 4), "offset-table.xlsx": ("收入", 12),
                "utf16.csv": ("销售额", 2100), "chartsheet.xlsx": ("Sales", 60)}
        for name, (column, expected) in sums.items():
            with self.subTest(name):
                [table] = self.read(name, (CASES / name).read_bytes())["tables"]
                [(total,)] = duckdb.sql(f"SELECT sum(\"{column}\") FROM '{table['parquet']}'").fetchall()
                self.assertEqual(f"{total}", f"{expected}")

    def test_parquet_is_named_by_its_content(self):
        first, again, other = (self.read("a.csv", text)["tables"][0]["parquet"] for text in ("a,b\n1,2\n", "a,b\n1,2\n", "a,b\n1,3\n"))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)
        self.assertEqual(sorted(name for name in os.listdir() if name != "a.csv"), sorted([first, other]))


if __name__ == "__main__":
    unittest.main()
