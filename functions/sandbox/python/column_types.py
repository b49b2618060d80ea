"""The type of a column: the one that at least 99 % of the values have, or text with the reason."""

import itertools
from collections import Counter
from decimal import Decimal

from cell_values import NO_MARKS, find_lost_digits, parse_date, parse_number, plain_text
from column import EXCEPTIONS, CellCounts, Column, has_none, is_enough, show_native
from column_times import find_date, find_number_times, find_time

# Texts that stand for a missing value in a column of another type.
_MISSING = frozenset(("na", "n/a", "#n/a", "null", "nan", "none", "<na>", "nil", "-", "--", "---", "—", "/", "\\", "无",
                      "空", "暂无", "未知", "缺失", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!", "?"))
_YES_NO = tuple((frozenset((yes,)), frozenset((no,))) for yes, no in (
    ("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"), ("是", "否"), ("有", "无"), ("对", "错"), ("真", "假")))
_LETTERS = ("y", "t", "n", "f", "no", "有", "无", "对", "错")
# Digits that DECIMAL holds in 64 bits, and at most.
_DECIMAL_DIGITS, _MAX_DECIMAL_DIGITS = 18, 38
_MAX_DECIMALS = 12
# Distinct values such as `1,234` from which a column has thousands.
_MIN_GROUPED = 3
# Distinct values that a column of yes and no may have, besides exceptions.
_MAX_DISTINCT = 30
# Distinct values that are examined for the marks of a column.
_MARKED = 2_000
# Currencies of countries with a decimal point.
_POINT_CURRENCIES = ("¥", "$", "£", "₹", "₩", "HKD", "TWD", "JPY", "日元", "円", "港元")


def is_missing(cell):
    """Returns true for a text that stands for a missing value."""
    return isinstance(cell, str) and plain_text(cell).lower() in _MISSING


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
    for find in (_find_boolean, *(() if reason else (_find_number,)), find_date, find_time):
        column, problem = find(CellCounts(name, given, counts, marks, can_guess))
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



def _find_mixture(given):
    """Returns `mixed` for a text column in which at least half of the values are numbers or dates."""
    if has_none(given, lambda cell: not isinstance(cell, str) or parse_number(cell) or parse_date(cell)):
        return ""
    total = sum(given.values())
    other = sum(count for cell, count in given.items()
                if not isinstance(cell, str) or parse_number(cell) or parse_date(cell))
    return "mixed" if other * 2 >= total else ""


# Yes or no


def _find_boolean(column):
    # `无` may be the opposite of `有`, or a missing value, so this finder sees all cells.
    given, counts = column.given, column.counts
    if len(counts) > _MAX_DISTINCT + column.total / EXCEPTIONS:
        return None, ""
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
    if best is None or not is_enough(best_count, total):
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
    texts = (cell for cell in cells if isinstance(cell, str) and not is_missing(cell))
    given = Counter(itertools.islice(texts, _MARKED))
    parsed, fits = _count_marks(given)
    total = sum(given.values())
    best = [pair for pair in fits if fits[pair] == max(fits.values())]
    if not parsed or not is_enough(fits[best[0]], total) or all(number.marks == NO_MARKS for number in parsed.values()):
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
    if has_none(given, lambda cell: not isinstance(cell, str) or parse_number(cell)):
        return None, ""
    parsed, fits = _count_marks(given)
    natives = {cell: _native_number(cell) for cell in given if _is_native_number(cell) and _is_finite(cell)}
    native_count = sum(given[cell] for cell in natives)
    most = max(fits.values(), default=0)
    if not parsed and not natives or not is_enough(most + native_count, total):
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
    times = find_number_times(column.name, numbers, given) if not units - {""} else None
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
