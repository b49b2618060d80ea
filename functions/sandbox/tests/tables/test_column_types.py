"""The types of columns: what the texts become, and why a column stays text."""

import datetime
import unittest
from decimal import Decimal

import local_time
from column_types import find_column, find_marks

# The cells; the kind, the values, the readings, and the reason for text.
COLUMNS = [
    (["1", "-2", "+3"], "integer", ["1", "-2", "3"], [], ""),
    (["1", "", None], "integer", ["1", None, None], [], ""),
    (["0", "10"], "integer", ["0", "10"], [], ""),
    (["0.5", "10"], "decimal", ["0.5", "10"], [], ""),
    ([".5", "2."], "decimal", ["0.5", "2"], [], ""),
    (["1.5E+03", "2"], "integer", ["1500", "2"], [], ""),
    (["１２３", "４５"], "integer", ["123", "45"], [], ""),
    (["−5", "4"], "integer", ["-5", "4"], [], ""),
    # Identifiers.
    (["007", "12"], "text", ["007", "12"], [], "leading_zeros"),
    (["00", "1"], "text", ["00", "1"], [], "leading_zeros"),
    (["110101199003078888", "1"], "text", ["110101199003078888", "1"], [], "long_digits"),
    (["+8613800138000"], "text", ["+8613800138000"], [], "telephone"),
    (["12E5", "13E4"], "text", ["12E5", "13E4"], [], ""),
    (["13800138000"], "integer", ["13800138000"], [], ""),
    # Marks for decimals and thousands.
    (["1,200.50", "3"], "decimal", ["1200.50", "3"], ["thousands"], ""),
    (["1.234,50", "3"], "decimal", ["1234.50", "3"], ["decimal_comma", "thousands"], ""),
    (["1,5", "20,25"], "decimal", ["1.5", "20.25"], ["decimal_comma"], ""),
    (["1 234,5", "7"], "decimal", ["1234.5", "7"], ["decimal_comma", "thousands"], ""),
    (["1\u202f234,5", "7"], "decimal", ["1234.5", "7"], ["decimal_comma", "thousands"], ""),
    (["1'234.50", "7"], "decimal", ["1234.50", "7"], ["thousands"], ""),
    (["1,234,567"], "integer", ["1234567"], ["thousands"], ""),
    (["1.234.567"], "integer", ["1234567"], ["thousands"], ""),
    (["1,234", "5,678", "9,012", "7"], "integer", ["1234", "5678", "9012", "7"], ["thousands"], ""),
    (["1,234", "5,678"], "text", ["1,234", "5,678"], [], "decimal_or_thousands"),
    (["1,234", "5,678", "9,012", "1000"], "text", ["1,234", "5,678", "9,012", "1000"], [], "decimal_or_thousands"),
    (["1,234", "0,5"], "decimal", ["1.234", "0.5"], ["decimal_comma"], ""),
    (["1.234", "2.500"], "decimal", ["1.234", "2.500"], [], ""),
    (["1,23,456", "7"], "text", ["1,23,456", "7"], [], "mixed"),
    # Units.
    (["12%", "3.5％"], "decimal", ["0.12", "0.035"], ["percent"], ""),
    (["12%", "3"], "text", ["12%", "3"], [], "mixed_units"),
    (["¥1,200", "300"], "decimal", ["1200", "300"], ["currency:¥", "thousands"], ""),
    (["￥1200.5", "30元"], "decimal", ["1200.5", "30"], ["currency:¥"], ""),
    (["$-5", "-$6", "($7)"], "decimal", ["-5", "-6", "-7"], ["currency:$", "negative_brackets"], ""),
    (["1.200,50 €", "3 €"], "decimal", ["1200.50", "3"], ["currency:€", "decimal_comma", "thousands"], ""),
    (["$1", "€2"], "text", ["$1", "€2"], [], "mixed_units"),
    (["1.2万", "3万"], "text", ["1.2万", "3万"], [], ""),
    (["(1,200.5)", "30"], "decimal", ["-1200.5", "30"], ["thousands", "negative_brackets"], ""),
    (["5-", "30"], "integer", ["-5", "30"], [], ""),
    # Dates.
    (["2024-01-31", "2024-2-1"], "date", ["2024-01-31", "2024-02-01"], [], ""),
    (["2024/1/31", "2024.2.1"], "date", ["2024-01-31", "2024-02-01"], [], ""),
    (["2024年1月", "2024年12月"], "date", ["2024-01-01", "2024-12-01"], ["month_as_first_day"], ""),
    (["2024年1月5日", "2024年12月31号"], "date", ["2024-01-05", "2024-12-31"], [], ""),
    (["2024-01", "2024-12"], "date", ["2024-01-01", "2024-12-01"], ["month_as_first_day"], ""),
    (["2024-01-05 10:30", "2024-01-06"], "timestamp", ["2024-01-05 10:30:00", "2024-01-06 00:00:00"], [], ""),
    (["2024-01-05 2:30 PM", "2024-01-05 12:00 am"], "timestamp", ["2024-01-05 14:30:00", "2024-01-05 00:00:00"], [], ""),
    (["2024-01-05T10:00:00Z", "2024-01-05T10:00:00+08:00"], "timestamp",
     ["2024-01-05 10:00:00", "2024-01-05 02:00:00"], ["utc"], ""),
    (["2024-01-05T10:00:00Z", "2024-01-05T10:00:00"], "text", ["2024-01-05T10:00:00Z", "2024-01-05T10:00:00"], [],
     "mixed"),
    (["13/04/2024", "05/06/2024"], "date", ["2024-04-13", "2024-06-05"], ["day_first"], ""),
    (["05/06/2024", "03/14/2024"], "date", ["2024-05-06", "2024-03-14"], ["month_first"], ""),
    (["03/04/2024", "05/06/2024"], "text", ["03/04/2024", "05/06/2024"], [], "day_or_month_first"),
    (["13/04/2024", "05/16/2024"], "text", ["13/04/2024", "05/16/2024"], [], "day_or_month_first"),
    (["31.12.2024", "01.02.2024"], "date", ["2024-12-31", "2024-02-01"], ["day_first"], ""),
    (["01.02.2024"], "date", ["2024-02-01"], ["day_first"], ""),
    (["01/02/24", "13/02/24"], "text", ["01/02/24", "13/02/24"], [], ""),
    (["5 Jan 2024", "January 6, 2024"], "date", ["2024-01-05", "2024-01-06"], [], ""),
    (["2024-02-30", "2024-01-01"], "text", ["2024-02-30", "2024-01-01"], [], "mixed"),
    (["1-2", "3-4"], "text", ["1-2", "3-4"], [], ""),
    (["09:30", "9:05:07"], "time", ["09:30:00", "09:05:07"], [], ""),
    (["26:05", "10:00"], "text", ["26:05", "10:00"], [], ""),
    # Yes or no.
    (["是", "否", None], "boolean", ["true", "false", None], [], ""),
    (["有", "无"], "boolean", ["true", "false"], [], ""),
    (["TRUE", "true"], "boolean", ["true", "true"], [], ""),
    (["Y", "Y"], "text", ["Y", "Y"], [], ""),
    (["1", "0"], "integer", ["1", "0"], [], ""),
    # Cells of workbooks and of JSON.
    ([0.1 + 0.2, 1, None], "decimal", ["0.3", "1", None], [], ""),
    ([True, False], "boolean", ["true", "false"], [], ""),
    ([2**60], "integer", [f"{2**60}"], [], ""),
    ([2**80], "integer", [f"{2**80}"], [], ""),
    ([Decimal("1.10"), 2], "decimal", ["1.10", "2"], [], ""),
    ([1e300], "number", [f"{Decimal('1e300'):f}"], [], ""),
    ([datetime.datetime(2024, 1, 5), datetime.datetime(2024, 1, 6)], "date", ["2024-01-05", "2024-01-06"], [], ""),
    ([datetime.datetime(2024, 1, 5, 9), "2024-01-06"], "timestamp", ["2024-01-05 09:00:00", "2024-01-06 00:00:00"], [],
     ""),
    ([datetime.time(9, 30)], "time", ["09:30:00"], [], ""),
    # Text.
    (["NA", "US"], "text", ["NA", "US"], [], ""),
    ([], "text", [], [], ""),
    ([None, None], "text", [None, None], [], ""),
    (["-", "-"], "text", ["-", "-"], [], ""),
]

# The name, the cells, the kind, the values and the readings of times that are written as numbers.
TIMES = [
    ("日期", ["45000", "45123.5"], "timestamp", ["2023-03-15 00:00:00", "2023-07-16 12:00:00"], ["serial_dates"]),
    ("order date", [45000], "date", ["2023-03-15"], ["serial_dates"]),
    ("created_at", ["1700000000"], "timestamp", ["2023-11-14 22:13:20"], ["epoch_seconds"]),
    ("createdAt", ["1700000000123"], "timestamp", ["2023-11-14 22:13:20.123000"], ["epoch_milliseconds"]),
    ("下单时间", ["1700000000000"], "timestamp", ["2023-11-14 22:13:20"], ["epoch_milliseconds"]),
    ("date", ["20240131", "20240201"], "date", ["2024-01-31", "2024-02-01"], ["compact_dates"]),
    ("date", ["20240131", "20240231"], "integer", ["20240131", "20240231"], []),
    ("quantity", ["45000"], "integer", ["45000"], []),
    ("order_id", ["1700000000"], "integer", ["1700000000"], []),
    ("天数", ["45000"], "integer", ["45000"], []),
    ("candidates", ["45000"], "integer", ["45000"], []),
    ("date", ["12%"], "decimal", ["0.12"], ["percent"]),
]

# The name, the cells, the kind, the values in Shanghai and in New York, and the readings but for the zone's name.
ZONED = [
    ("x", ["2024-01-05T10:00:00Z", "2024-01-05T10:00:00+08:00"], "timestamp",
     ["2024-01-05 18:00:00", "2024-01-05 10:00:00"], ["2024-01-05 05:00:00", "2024-01-04 21:00:00"], []),
    # The day of the zone, not that of UTC.
    ("x", ["2024-01-04T16:00:00Z"], "date", ["2024-01-05"], None, []),
    ("x", ["2024-07-04T04:00:00Z"], "date", None, ["2024-07-04"], []),
    ("created_at", ["1700000000"], "timestamp", ["2023-11-15 06:13:20"], ["2023-11-14 17:13:20"], ["epoch_seconds"]),
    ("created_at", ["1700000000123"], "timestamp", ["2023-11-15 06:13:20.123000"], ["2023-11-14 17:13:20.123000"],
     ["epoch_milliseconds"]),
    # Times without an offset are those of the zone's clocks already.
    ("x", ["2024-01-05 10:30"], "timestamp", ["2024-01-05 10:30:00"], ["2024-01-05 10:30:00"], []),
    ("日期", ["45123.5"], "timestamp", ["2023-07-16 12:00:00"], ["2023-07-16 12:00:00"], ["serial_dates"]),
    ("x", [datetime.datetime(2024, 1, 5, 9)], "timestamp", ["2024-01-05 09:00:00"], ["2024-01-05 09:00:00"], []),
]


class ColumnTypes(unittest.TestCase):
    def test_times_with_an_offset_are_shifted_once_into_the_zone(self):
        self.addCleanup(local_time.set_time_zone, local_time.UTC)
        for name, cells, kind, *values, readings in ZONED:
            for zone, expected in zip(("Asia/Shanghai", "America/New_York"), values):
                if expected is None:
                    continue
                with self.subTest(cells=cells, zone=zone):
                    local_time.set_time_zone(zone)
                    column = find_column(name, cells)
                    self.assertEqual((column.kind, column.values(cells)), (kind, expected))
                    has_offset = isinstance(cells[0], str) and cells[0][-1] == "Z"
                    self.assertEqual(column.readings, [zone] if has_offset else readings)

    def test_column_has_the_type_of_its_values_or_a_reason_for_text(self):
        for cells, kind, values, readings, reason in COLUMNS:
            with self.subTest(cells=cells):
                cells = [None if cell == "" else cell for cell in cells]
                column = find_column("x", cells)
                self.assertEqual((column.kind, column.values(cells)), (kind, values))
                self.assertEqual((sorted(column.readings), column.reason), (sorted(readings), reason))

    def test_numbers_are_times_only_where_the_name_says_so(self):
        for name, cells, kind, values, readings in TIMES:
            with self.subTest(name=name, cells=cells):
                column = find_column(name, cells)
                self.assertEqual((column.kind, column.values(cells), column.readings), (kind, values, readings))

    def test_one_value_in_a_hundred_may_differ_and_is_counted(self):
        numbers = [f"{number}" for number in range(99)]
        for cells, kind, lost in [(numbers + ["abc"], "integer", 1), (numbers[:98] + ["abc"], "text", 0),
                                  (numbers + ["13/01/2024"], "integer", 1), (numbers + ["N/A"], "integer", 0)]:
            with self.subTest(last=cells[-1], count=len(cells)):
                column = find_column("x", cells)
                self.assertEqual((column.kind, sum(column.not_converted.values())), (kind, lost))
        column = find_column("x", numbers + ["N/A"] * 20_500)
        self.assertEqual((column.kind, column.missing["N/A"]), ("integer", 20_500))
        self.assertIsNone(column.values(["N/A"])[0])

    def test_one_exception_does_not_decide_the_order_of_day_and_month(self):
        days = [f"{day}/01/2024" for day in range(13, 32)] * 10
        column = find_column("x", days + ["01/31/2024"])
        self.assertEqual((column.kind, column.readings, sum(column.not_converted.values())), ("date", ["day_first"], 1))
        self.assertEqual(find_column("x", days[:50] + ["01/31/2024"]).reason, "day_or_month_first")

    def test_leading_zero_anywhere_keeps_the_whole_column(self):
        cells = [f"{number}" for number in range(1000)] + ["007"]
        column = find_column("x", cells)
        self.assertEqual((column.kind, column.reason, column.values(cells)[-1]), ("text", "leading_zeros", "007"))

    def test_marks_of_other_columns_decide_what_one_leaves_open(self):
        self.assertEqual(find_marks(["1.234,50", "7"]), (",", "."))
        self.assertIsNone(find_marks(["1,234"]))
        self.assertIsNone(find_marks(["1", "2"]))
        for marks, values in [((",", "."), ["1.234", "5.678"]), ((".", ","), ["1234", "5678"])]:
            cells = ["1,234", "5,678"]
            self.assertEqual(find_column("x", cells, marks).values(cells), values)
        for cells in (["1,234", "5,678", "9,012"], ["1.234", "5.678"]):
            self.assertEqual(find_column("x", cells, can_guess=False).reason, "decimal_or_thousands")


if __name__ == "__main__":
    unittest.main()
