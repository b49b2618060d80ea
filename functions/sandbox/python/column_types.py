"""The type of a column: the one that at least 99 % of the values have, or text with the reason."""

import datetime
import re
from collections import Counter
from decimal import Decimal

from cell_values import NO_MARKS, find_lost_digits, parse_date, parse_number, parse_time, plain_text

# One value in this number may have another type.
_EXCEPTIONS = 100
# Shown examples of values.
_MAX_EXAMPLES = 3
# Texts that stand for a missing value in a column of another type.
_MISSING = frozenset(("na", "n/a", "#n/a", "null", "nan", "none", "<na>", "nil", "-", "--", "---", "—", "/", "\\", "无", "空",
                      "暂无", "未知", "缺失", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!", "?"))
_YES_NO = tuple((frozenset((yes,)), frozenset((no,))) for yes, no in (
    ("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"), ("是", "否"), ("有", "无"), ("对", "错"), ("真", "假")))
_LETTERS = ("y", "t", "n", "f", "no", "有", "无", "对", "错")
# Names of columns whose numbers are times, and names of columns that only sound so.
_TIME_NAME = re.compile(r"(?:^|[^a-z])(date|datetime|time|timestamp|ts|day|dt|month|created|updated|modified|at)(?:[^a-z]|$)|"
                        r"日期|时间|時間|时刻|年月|月份|日時|날짜|시간")
_AMOUNT_NAME = re.compile(r"(?:^|[^a-z])(count|num|number|amount|total|sum|days|hours|minutes|seconds|duration|id|no|price|cost)"
                          r"(?:[^a-z]|$)|天数|次数|时长|时数|数量|编号|金额|耗时|用时|单号")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_FIRST_SERIAL, _LAST_SERIAL = 20_000, 80_000
_FIRST_SECOND, _LAST_SECOND = 631_152_000, 4_102_444_800
_EPOCH = datetime.datetime(1970, 1, 1)
_SERIAL_START = datetime.datetime(1899, 12, 30)
# Digits that DECIMAL holds in 64 bits, and at most.
_DECIMAL_DIGITS, _MAX_DECIMAL_DIGITS = 18, 38
_MAX_DECIMALS = 12
# Distinct values such as `1,234` from which a column has thousands.
_MIN_GROUPED = 3
# Currencies of countries with a decimal point.
_POINT_CURRENCIES = ("¥", "$", "£", "₹", "₩", "HKD", "TWD", "JPY", "日元", "円", "港元")


class Column:
    """A column with its type.

    `kind` is `integer`, `decimal`, `number`, `date`, `timestamp`, `time`, `boolean` or `text`, and `sql_type` is
    DuckDB's type. `readings` are codes for how the values were read: `percent`, `currency:¥`, `decimal_comma`,
    `thousands`, `negative_brackets`, `day_first`, `month_first`, `month_as_first_day`, `serial_dates`,
    `epoch_seconds`, `epoch_milliseconds`, `compact_dates`, `utc`. `reason` is the reason for text: `leading_zeros`,
    `long_digits`, `telephone`, `day_or_month_first`, `mixed_units`, `decimal_or_thousands`, `mixed`, or empty. `converted` has the value of each
    distinct cell; a cell without a value in it was not converted.
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


def is_missing(cell):
    """Returns true for a text that stands for a missing value."""
    return isinstance(cell, str) and plain_text(cell).lower() in _MISSING


class _Given:
    """The cells of a column: `given` without missing values, and `counts` of all."""

    def __init__(self, name, given, counts, marks, can_guess):
        self.name, self.given, self.counts, self.marks, self.can_guess = name, given, counts, marks, can_guess
        self.total = sum(given.values())


def find_column(name, cells, marks=None, can_guess=True):
    """Returns the `Column` of these cells: texts, numbers, booleans, dates and times, or None.

    `marks` is the pair of marks for decimals and groups that other columns of the table have; see `find_marks`.
    Without it, `1,234` is read as 1234 only if `can_guess`.
    """
    counts = Counter(cell for cell in cells if cell is not None)
    missing = Counter({cell: count for cell, count in counts.items() if is_missing(cell)})
    given = Counter({cell: count for cell, count in counts.items() if cell not in missing})
    if not given:
        return _text_column(counts)
    texts = [plain_text(cell) for cell in given if isinstance(cell, str)]
    reason = next(filter(None, map(find_lost_digits, texts)), "")
    for find in (_find_boolean, *(() if reason else (_find_number,)), _find_date, _find_time):
        column, problem = find(_Given(name, given, counts, marks, can_guess))
        if column is not None:
            column.missing = Counter({cell: count for cell, count in missing.items() if cell not in column.converted})
            rest = {cell: count for cell, count in given.items() if cell not in column.converted}
            column.not_converted = Counter(rest)
            return column
        reason = reason or problem
    return _text_column(counts, reason or _find_mixture(given))


def _text_column(counts, reason=""):
    converted = {cell: cell if isinstance(cell, str) else show_native(cell) for cell in counts}
    return Column("text", "VARCHAR", converted, reason=reason)


def show_native(cell):
    """Returns a cell of a workbook or of JSON as text."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return f"{cell:.0f}" if cell.is_integer() and abs(cell) < 1e15 else f"{cell:.15g}"
    if isinstance(cell, datetime.datetime):
        return f"{cell.date()}" if cell.time() == datetime.time() else f"{cell}"
    return f"{cell}"


def _is_enough(count, total):
    return (total - count) * _EXCEPTIONS <= total


def _find_mixture(given):
    """Returns `mixed` for a text column in which at least half of the values are numbers or dates."""
    total = sum(given.values())
    other = sum(count for cell, count in given.items()
                if not isinstance(cell, str) or parse_number(cell) or parse_date(cell))
    return "mixed" if other * 2 >= total else ""


# Yes or no


def _find_boolean(column):
    # `无` may be the opposite of `有`, or a missing value, so this finder sees all cells.
    given, counts = column.given, column.counts
    best, best_count = None, 0
    for yes, no in _YES_NO:
        converted = {}
        for cell in counts:
            word = "true" if cell is True else "false" if cell is False else plain_text(cell).lower() if isinstance(
                cell, str) else None
            if word in yes or word in no:
                converted[cell] = word in yes
        is_clear = len(set(converted.values())) == 2 or not all(
            isinstance(cell, str) and plain_text(cell).lower() in _LETTERS for cell in converted)
        count = sum(counts[cell] for cell in converted)
        if converted and is_clear and count > best_count:
            best, best_count = converted, count
    total = column.total + sum(counts[cell] for cell in best or () if cell not in given)
    if best is None or not _is_enough(best_count, total):
        return None, ""
    return Column("boolean", "BOOLEAN", best), ""


# Numbers


def _is_native_number(cell):
    return isinstance(cell, (int, float, Decimal)) and not isinstance(cell, bool)


def _native_number(cell):
    return Decimal(f"{cell:.15g}") if isinstance(cell, float) else Decimal(cell)


def _count_marks(given):
    """Returns the number texts of a column by cell, and the number of values that each pair of marks fits."""
    parsed, fits = {}, Counter()
    for cell, count in given.items():
        if not isinstance(cell, str):
            continue
        number = parse_number(cell)
        if number is None:
            continue
        parsed[cell] = number
        for pair in number.marks:
            fits[pair] += count
    return parsed, fits


def find_marks(cells):
    """Returns the only pair of marks that fits a column of texts with marks, or None."""
    given = Counter(cell for cell in cells if isinstance(cell, str) and not is_missing(cell))
    parsed, fits = _count_marks(given)
    total = sum(given.values())
    best = [pair for pair in fits if fits[pair] == max(fits.values())]
    if not parsed or not _is_enough(fits[best[0]], total) or all(number.marks == NO_MARKS for number in parsed.values()):
        return None
    readings = _distinct_readings(parsed, best)
    return min(readings[0]) if len(readings) == 1 else None


def _distinct_readings(parsed, pairs):
    """Returns the pairs of marks in groups that read all values equally."""
    groups = {}
    for pair in pairs:
        numbers = tuple(number.number(pair) if pair in number.marks else None for number in parsed.values())
        groups.setdefault(numbers, []).append(pair)
    return list(groups.values())


def _find_number(column):
    given, total = column.given, column.total
    parsed, fits = _count_marks(given)
    natives = {cell: _native_number(cell) for cell in given if _is_native_number(cell) and _is_finite(cell)}
    native_count = sum(given[cell] for cell in natives)
    most = max(fits.values(), default=0)
    if not parsed and not natives or not _is_enough(most + native_count, total):
        return None, ""
    units = {number.unit for number in parsed.values()}
    if len(units - {""}) > 1 or ("%" in units and (len(units) > 1 or natives)):
        return None, "mixed_units"
    pair, problem = _choose_marks(parsed, [pair for pair in fits if fits[pair] == most], column)
    if problem:
        return None, problem
    numbers = dict(natives)
    numbers |= {cell: number.number(pair) for cell, number in parsed.items() if pair in number.marks}
    readings = _name_readings(parsed, pair, units)
    times = _find_number_times(column.name, numbers, given) if not units - {""} else None
    return times or _number_column(numbers, readings), ""


def _is_finite(cell):
    return not isinstance(cell, float) or cell - cell == 0


def _choose_marks(parsed, pairs, column):
    """Returns the pair of marks of a column, or the reason for none."""
    if not parsed:
        return (".", ""), ""
    readings = _distinct_readings(parsed, pairs)
    if len(readings) == 1:
        return min(readings[0]), ""
    if column.marks is not None:
        known = [column.marks for group in readings if column.marks in group]
        return (known[0], "") if known else (None, "decimal_or_thousands")
    if any(number.unit in _POINT_CURRENCIES for number in parsed.values()):
        return (".", ","), ""
    if column.can_guess and any((".", "") in group for group in readings):
        # Only a point, always before three digits: an ordinary decimal point.
        return (".", ""), ""
    groups = {number.digits for number in parsed.values() if "," in number.digits}
    whole = [number for number in parsed.values() if "," not in number.digits]
    is_grouped = all(len(number.digits.lstrip("+-")) <= 3 for number in whole)
    if column.can_guess and len(groups) >= _MIN_GROUPED and is_grouped:
        return (".", ","), ""
    return None, "decimal_or_thousands"


def _name_readings(parsed, pair, units):
    readings = [f"currency:{unit}" for unit in units if unit not in ("", "%")]
    readings += ["percent"] if "%" in units else []
    decimal, group = pair
    read = [number for number in parsed.values() if pair in number.marks]
    readings += ["decimal_comma"] if any(decimal == "," and "," in number.digits for number in read) else []
    readings += ["thousands"] if any(group and group in number.digits for number in read) else []
    readings += ["negative_brackets"] if any(cell.strip()[:1] in "(（" for cell in parsed) else []
    return readings


def _number_column(numbers, readings):
    decimals = max((-number.as_tuple().exponent for number in numbers.values()), default=0)
    if all(number == number.to_integral_value() for number in numbers.values()) and "percent" not in readings:
        numbers = {cell: number.to_integral_value() for cell, number in numbers.items()}
        digits = max(_count_digits(number) for number in numbers.values())
        if digits <= _MAX_DECIMAL_DIGITS and not _has_money(readings, decimals):
            sql_type = "BIGINT" if digits <= _DECIMAL_DIGITS else f"DECIMAL({_MAX_DECIMAL_DIGITS},0)"
            return Column("integer", sql_type, numbers, readings)
        decimals = max(0, decimals)
    digits = max(_count_digits(number) for number in numbers.values()) + max(decimals, 0)
    if decimals > _MAX_DECIMALS or digits > _MAX_DECIMAL_DIGITS:
        return Column("number", "DOUBLE", numbers, readings)
    width = _DECIMAL_DIGITS if digits <= _DECIMAL_DIGITS else _MAX_DECIMAL_DIGITS
    return Column("decimal", f"DECIMAL({width},{max(decimals, 0)})", numbers, readings)


def _has_money(readings, decimals):
    return decimals > 0 or any(reading.startswith("currency") for reading in readings)


def _count_digits(number):
    """Returns the number of digits before the point."""
    return max(number.adjusted() + 1, 1)


def _find_number_times(name, numbers, given):
    """Returns the column of times that are written as numbers, if the column's name says so."""
    words = _CAMEL.sub("_", name).lower()
    if not _TIME_NAME.search(words) or _AMOUNT_NAME.search(words):
        return None
    total = sum(given.values())
    for reading, convert in _NUMBER_TIMES:
        converted = {cell: convert(number) for cell, number in numbers.items()}
        converted = {cell: time for cell, time in converted.items() if time is not None}
        if converted and _is_enough(sum(given[cell] for cell in converted), total):
            return _date_column(converted, [reading])
    return None


def _from_compact(number):
    text = f"{number:f}"
    try:
        return datetime.datetime.strptime(text, "%Y%m%d") if len(text) == 8 and "1900" <= text[:4] < "2100" else None
    except ValueError:
        return None


def _from_serial(number):
    if not _FIRST_SERIAL <= number < _LAST_SERIAL:
        return None
    return _SERIAL_START + datetime.timedelta(milliseconds=round(float(number) * 86_400_000))


def _from_seconds(number):
    is_one = _FIRST_SECOND <= number < _LAST_SECOND
    return _EPOCH + datetime.timedelta(microseconds=round(number * 1_000_000)) if is_one else None


def _from_milliseconds(number):
    return _from_seconds(number / 1000) if number >= _FIRST_SECOND * 1000 else None


_NUMBER_TIMES = (("compact_dates", _from_compact), ("serial_dates", _from_serial), ("epoch_seconds", _from_seconds),
                 ("epoch_milliseconds", _from_milliseconds))


# Dates and times


def _date_column(converted, readings):
    if all(moment.time() == datetime.time() for moment in converted.values()):
        return Column("date", "DATE", {cell: moment.date() for cell, moment in converted.items()}, readings)
    return Column("timestamp", "TIMESTAMP", converted, readings)


def _native_date(cell):
    if isinstance(cell, datetime.datetime):
        return cell.replace(tzinfo=None) if cell.tzinfo is None else (
            cell.astimezone(datetime.timezone.utc).replace(tzinfo=None))
    return datetime.datetime.combine(cell, datetime.time()) if isinstance(cell, datetime.date) else None


def _find_date(column):
    given, total = column.given, column.total
    natives = {cell: _native_date(cell) for cell in given}
    converted = {cell: date for cell, date in natives.items() if date is not None}
    parsed = {cell: parse_date(cell) for cell in given if isinstance(cell, str)}
    parsed = {cell: date for cell, date in parsed.items() if date is not None}
    if not _is_enough(sum(given[cell] for cell in [*converted, *parsed]), total) or not [*converted, *parsed]:
        return None, ""
    order, problem = _choose_order([(date, given[cell]) for cell, date in parsed.items() if date.order == "unknown"])
    with_zone = [date for date in parsed.values() if date.has_zone]
    if with_zone and (natives.keys() & converted.keys() or len(with_zone) < sum(d.has_time for d in parsed.values())):
        problem = problem or "mixed"
    if problem:
        return None, problem
    read = {cell: date.in_order(order) for cell, date in parsed.items()}
    converted |= {cell: date for cell, date in read.items() if date is not None}
    if not _is_enough(sum(given[cell] for cell in converted), total):
        return None, ""
    readings = ["day_first" if order == "dmy" else "month_first"] if order else []
    readings += ["month_as_first_day"] if any(date.is_month for date in parsed.values()) else []
    readings += ["utc"] if with_zone else []
    return _date_column(converted, readings), ""


def _choose_order(dates):
    """Returns `dmy` or `mdy` for dates that begin with two numbers, by all of them, or the reason for neither."""
    if not dates:
        return "", ""
    days_first = sum(count for date, count in dates if date.day_is() == "first")
    days_second = sum(count for date, count in dates if date.day_is() == "second")
    if all(date.has_dots() for date, _ in dates) and not days_second:
        return "dmy", ""
    if not days_first and not days_second:
        return "", "day_or_month_first"
    fewer, more = sorted((days_first, days_second))
    if fewer * _EXCEPTIONS > more:
        return "", "day_or_month_first"
    return ("dmy" if days_first > days_second else "mdy"), ""


def _find_time(column):
    given = column.given
    times = {cell: cell if isinstance(cell, datetime.time) else parse_time(cell) if isinstance(cell, str) else None
             for cell in given}
    times = {cell: time for cell, time in times.items() if time is not None}
    if not times or not _is_enough(sum(given[cell] for cell in times), column.total):
        return None, ""
    return Column("time", "TIME", times), ""


def name_examples(counts):
    """Returns the most frequent cells as texts, and the number of all."""
    return [show_native(cell)[:80] for cell, _ in counts.most_common(_MAX_EXAMPLES)], sum(counts.values())
