"""A column with its type, and the share of values that decides it."""

import datetime
import itertools
from collections import Counter
from decimal import Decimal

# One value in this number may have another type.
EXCEPTIONS = 100
# Shown examples of values.
_MAX_EXAMPLES = 3
# Distinct values without a single number or date, from which the others are not examined.
_SAMPLE = 200


class Column:
    """A column with its type.

    `kind` is `integer`, `decimal`, `number`, `date`, `timestamp`, `time`, `boolean` or `text`, and `sql_type` is
    DuckDB's type. `readings` are codes for how the values were read: `percent`, `currency:¥`, `decimal_comma`,
    `thousands`, `negative_brackets`, `day_first`, `month_first`, `month_as_first_day`, `serial_dates`,
    `epoch_seconds`, `epoch_milliseconds`, `compact_dates`, `utc` or the name of the job's time zone. `reason` is the
    reason for text: `leading_zeros`, `long_digits`, `telephone`, `day_or_month_first`, `mixed_units`, `decimal_or_thousands`, `mixed`, or empty.
    `converted` has the value of each distinct cell; a cell without a value in it was not converted.
    """

    def __init__(self, kind, sql_type, converted, readings=(), reason=""):
        self.kind, self.sql_type, self.converted = kind, sql_type, converted
        self.readings, self.reason = list(readings), reason
        self.missing, self.not_converted = Counter(), Counter()

    def values(self, cells):
        """Returns the cells as texts that DuckDB casts to the type, with None for missing values."""
        shown = {cell: _show(value) for cell, value in self.converted.items()}
        return [None if cell is None else shown.get(cell) for cell in cells]


def _show(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return f"{value:f}"
    return f"{value}"


class CellCounts:
    """The cells of a column: `given` without missing values, and `counts` of all."""

    def __init__(self, name, given, counts, marks, can_guess):
        self.name, self.given, self.counts, self.marks, self.can_guess = name, given, counts, marks, can_guess
        self.total = sum(given.values())


def show_native(cell):
    """Returns a cell of a workbook or of JSON as text."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return f"{cell:.0f}" if cell.is_integer() and abs(cell) < 1e15 else f"{cell:.15g}"
    if isinstance(cell, datetime.datetime):
        return f"{cell.date()}" if cell.time() == datetime.time() else f"{cell}"
    return f"{cell}"


def has_none(given, is_one):
    """Returns true if none of the first distinct values is one."""
    return len(given) > _SAMPLE and not any(is_one(cell) for cell in itertools.islice(given, _SAMPLE))


def is_enough(count, total):
    return (total - count) * EXCEPTIONS <= total


def name_examples(counts):
    """Returns the most frequent cells as texts, and the number of all."""
    return [show_native(cell)[:80] for cell, _ in counts.most_common(_MAX_EXAMPLES)], sum(counts.values())
