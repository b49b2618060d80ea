"""The table of a CSV file: the beginning and end, and arguments for reading it with pandas without loss."""

import csv
import io
import itertools
import re
from collections import Counter, deque

from extract import Unreadable

# Records, and characters, that are examined for the separator and the header.
_SAMPLE_RECORDS, _SAMPLE_CHARACTERS = 200, 1_000_000
# Maximum fields of a record, as in an Excel sheet.
_MAX_FIELDS = 16_384
# Records that are examined for the types of columns.
TYPED_RECORDS = 10_000
# Last records that may be a footer or a total.
_TAIL_RECORDS = 50
# Lines in one cell above which its quotation mark counts as a plain character.
_MAX_CELL_LINES = 200
# Digits from which a number is an identifier, because a float cannot hold it.
_ID_DIGITS = 16

_TOTALS = ("合计", "总计", "小计", "总和", "共计", "合計", "總計", "総計", "小計", "total", "grand total", "subtotal", "sum", "summe",
           "gesamt", "итого", "всего", "합계", "총계", "소계")
# Missing values of pandas.
_GAPS = ("", "NA", "N/A", "n/a", "NULL", "null", "NaN", "nan", "None", "#N/A", "<NA>")
_INTEGER = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?")
_THOUSANDS = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?")
_DAY_FIRST = re.compile(r"(\d{1,2})[./](\d{1,2})[./]\d{4}")


class CsvTable:
    """A table in a text.

    `separator`; `skipped`, the number of records before the header, including blank records; `header`, the header's
    fields; `records`, the first `TYPED_RECORDS` records after the header; `rows`, the number of data records;
    `footer`, the number of records after the data; `total`, the first cell of a last row with sums, which `rows` does
    not count; `ragged`, the number of records with more or fewer fields; `has_quotes`, false if quotation marks are
    plain characters, an argument of `__init__`.

    Raises `extract.Unreadable` for a table that is too wide.
    """

    def __init__(self, text, has_quotes=True):
        csv.field_size_limit(len(text) + 1)
        self.has_quotes = has_quotes
        self.separator, sample = self._find_separator(text)
        if any(field.count("\n") > _MAX_CELL_LINES for record in sample for field in record):
            self.has_quotes = False
            self.separator, sample = self._find_separator(text)
        self.width = usual_width(sample)[0]
        if self.width > _MAX_FIELDS:
            raise Unreadable("too_large")
        self.skipped = find_header(sample, self.width)
        self._find_short_header(sample)
        records = self.read(text)
        self.header = next(itertools.islice(records, self.skipped, None), [])
        self._count(records)

    def read(self, text, separator=None):
        """Returns an iterator over the records of a text, with the separator of this table by default."""
        quoting = csv.QUOTE_MINIMAL if self.has_quotes else csv.QUOTE_NONE
        return csv.reader(io.StringIO(text, newline=""), delimiter=separator or self.separator, quoting=quoting)

    def _find_separator(self, text):
        head = text[:_SAMPLE_CHARACTERS]
        samples = {mark: list(itertools.islice(self.read(head, mark), _SAMPLE_RECORDS)) for mark in ",;\t|"}
        best = max(samples, key=lambda mark: _regularity(samples[mark]))
        return best, samples[best]

    def _find_short_header(self, sample):
        """Uses the record before the first regular record as the header if it only lacks one field. Pandas then uses
        the first field of each row as a label, unless the last field is empty."""
        before = sample[self.skipped - 1] if self.skipped else []
        self.is_labelled = self.has_empty_end = False
        if len(before) < 2 or len(before) != self.width - 1 or not all(field.strip() for field in before):
            return
        self.skipped -= 1
        self.has_empty_end = all(not record[-1].strip() for record in sample if len(record) == self.width)
        self.is_labelled = not self.has_empty_end

    def _count(self, records):
        self.records, self.ragged, self.rows = [], 0, 0
        tail = deque(maxlen=_TAIL_RECORDS)
        for record in records:
            tail.append(record)
            if not record:
                continue
            self.rows += 1
            self.ragged += len(record) != self.width
            if len(self.records) < TYPED_RECORDS:
                self.records.append(record)
        self.footer, self.total = 0, None
        while tail and self._is_beside(tail[-1]):
            record = tail.pop()
            self.footer += bool(record)
            self.ragged -= bool(record) and len(record) != self.width
        if tail and self.rows > self.footer + 1:
            self.total = find_total(tail[-1])
        self.rows -= self.footer + (self.total is not None)
        del self.records[self.rows:]

    def _is_beside(self, record):
        if not record:
            return True
        filled = _count_filled(record)
        return self.width > 1 and (len(record) == 1 or (filled <= 1 and self.width > 2))

    def arguments(self, columns):
        """Returns keyword arguments for `pandas.read_csv` that read `columns` (by their pandas names) correctly."""
        arguments = {}
        if self.separator != ",":
            arguments["sep"] = self.separator
        if not self.has_quotes:
            arguments["quoting"] = csv.QUOTE_NONE
        if self.skipped:
            arguments["skiprows"] = self.skipped
        if self.footer or self.total is not None:
            arguments["nrows"] = self.rows
        if self.has_empty_end:
            arguments["index_col"] = False
        if self.ragged:
            arguments["on_bad_lines"] = "skip"
        return arguments | self._column_arguments(columns)

    def named(self, column, columns):
        """Returns true if a column has a name or values. A separator at the end of each line causes an empty column."""
        place = columns.index(column)
        is_named = place < len(self.header) and self.header[place].strip()
        place += self.is_labelled
        return bool(is_named) or any(record[place].strip() for record in self.records if place < len(record))

    def _column_arguments(self, columns):
        types, dates, marks = {}, [], Counter()
        for number, column in enumerate(columns):
            place = number + self.is_labelled
            values = [record[place].strip() for record in self.records if place < len(record)]
            given = [value for value in values if value not in _GAPS]
            if not given:
                continue
            has_gaps = len(given) < len(self.records)
            if all(map(_INTEGER.fullmatch, given)):
                if any(is_identifier(value) for value in given):
                    types[column] = "str"
                elif has_gaps:
                    types[column] = "Int64"
            elif all(map(_DAY_FIRST.fullmatch, given)):
                if _has_day_first(given):
                    dates.append(column)
            elif not all(map(_NUMBER.fullmatch, given)):
                marks[_find_marks(given, self.separator)] += 1
            elif any(is_identifier(value.partition(".")[0]) for value in given):
                types[column] = "str"
        arguments = {}
        del marks[None]
        if marks:
            decimal, thousands = marks.most_common(1)[0][0]
            arguments |= {"decimal": decimal} if decimal != "." else {}
            arguments["thousands"] = thousands
        if types:
            arguments["dtype"] = types
        if dates:
            arguments |= {"parse_dates": dates, "dayfirst": True}
        return arguments


def find_total(record):
    """Returns the first cell of a row that sums the rows above, or None."""
    first = next((field.strip() for field in record if field.strip()), "")
    return first if first.rstrip(":：").strip().lower() in _TOTALS else None


def is_identifier(digits):
    """Returns true if a number would lose digits: leading zeros, or more digits than a float holds."""
    digits = digits.lstrip("+-")
    return len(digits) >= _ID_DIGITS or (len(digits) > 1 and digits[0] == "0")


def _has_day_first(dates):
    """Returns true if dates begin with the day: with dots, or with slashes and a first number above 12."""
    if "." in dates[0]:
        return True
    return any(int(_DAY_FIRST.fullmatch(date)[1]) > 12 for date in dates)


def _find_marks(values, separator):
    """Returns the marks for decimals and thousands if all values are numbers with such marks, or None."""
    if all(map(_DECIMAL_COMMA.fullmatch, values)) and separator != ",":
        # `1,234` is ambiguous.
        if any(value.partition(",")[1] and len(value.partition(",")[2]) != 3 or "." in value for value in values):
            return ",", "."
    return (".", ",") if all(map(_THOUSANDS.fullmatch, values)) else None


def _count_filled(record):
    return sum(1 for field in record if field.strip())


def usual_width(sample):
    """Returns the most common number of fields, and the number of records with it."""
    widths = Counter(len(record) for record in sample if record)
    if not widths:
        return 1, 0
    return max(widths.items(), key=lambda item: (item[0] > 1, item[1], item[0]))


def _regularity(sample):
    width, count = usual_width(sample)
    return width * count / max(1, len(sample)) if width > 1 else 0


def find_header(sample, width):
    """Returns the number of records before the table's first record."""
    if width > 1:
        for number, record in enumerate(sample):
            following = next((later for later in sample[number + 1:] if later), record)
            is_regular = len(record) == len(following) == width
            if is_regular and _count_filled(record) * 2 >= min(width, 4):
                return number
    return next((number for number, record in enumerate(sample) if record), 0)
