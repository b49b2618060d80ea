"""Columns of dates and times: texts, cells of workbooks, and numbers in columns whose names say so."""

import datetime
import re

from cell_values import parse_date, parse_time
from column import EXCEPTIONS, Column, has_none, is_enough
from local_time import from_utc, zone_reading

# Names of columns whose numbers are times, and names of columns that only sound so.
_TIME_NAME = re.compile(r"(?:^|[^a-z])(date|datetime|time|timestamp|ts|day|dt|month|created|updated|modified|at)"
                        r"(?:[^a-z]|$)|"
                        r"日期|时间|時間|时刻|年月|月份|日時|날짜|시간")
_AMOUNT_NAME = re.compile(r"(?:^|[^a-z])(count|num|number|amount|total|sum|days|hours|minutes|seconds|duration|id|no|"
                          r"price|cost)(?:[^a-z]|$)|天数|次数|时长|时数|数量|编号|金额|耗时|用时|单号")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_FIRST_SERIAL, _LAST_SERIAL = 20_000, 80_000
_FIRST_SECOND, _LAST_SECOND = 631_152_000, 4_102_444_800
_EPOCH = datetime.datetime(1970, 1, 1)
_SERIAL_START = datetime.datetime(1899, 12, 30)


def find_number_times(name, numbers, given):
    """Returns the column of times that are written as numbers, if the column's name says so."""
    words = _CAMEL.sub("_", name).lower()
    if not _TIME_NAME.search(words) or _AMOUNT_NAME.search(words):
        return None
    total = sum(given.values())
    for reading, convert in _NUMBER_TIMES:
        converted = {cell: convert(number) for cell, number in numbers.items()}
        converted = {cell: time for cell, time in converted.items() if time is not None}
        if converted and is_enough(sum(given[cell] for cell in converted), total):
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
    return from_utc(_EPOCH + datetime.timedelta(microseconds=round(number * 1_000_000))) if is_one else None


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
            from_utc(cell.astimezone(datetime.timezone.utc).replace(tzinfo=None)))
    return datetime.datetime.combine(cell, datetime.time()) if isinstance(cell, datetime.date) else None


def find_date(column):
    given, total = column.given, column.total
    if has_none(given, lambda cell: not isinstance(cell, str) or parse_date(cell)):
        return None, ""
    natives = {cell: _native_date(cell) for cell in given}
    converted = {cell: date for cell, date in natives.items() if date is not None}
    parsed = {cell: parse_date(cell) for cell in given if isinstance(cell, str)}
    parsed = {cell: date for cell, date in parsed.items() if date is not None}
    if not is_enough(sum(given[cell] for cell in [*converted, *parsed]), total) or not [*converted, *parsed]:
        return None, ""
    order, problem = _choose_order([(date, given[cell]) for cell, date in parsed.items() if date.order == "unknown"])
    with_zone = [date for date in parsed.values() if date.has_zone]
    if with_zone and (natives.keys() & converted.keys() or len(with_zone) < sum(d.has_time for d in parsed.values())):
        problem = problem or "mixed"
    if problem:
        return None, problem
    read = {cell: date.in_order(order) for cell, date in parsed.items()}
    converted |= {cell: from_utc(date) if parsed[cell].has_zone else date for cell, date in read.items() if date is not None}
    if not is_enough(sum(given[cell] for cell in converted), total):
        return None, ""
    readings = ["day_first" if order == "dmy" else "month_first"] if order else []
    readings += ["month_as_first_day"] if any(date.is_month for date in parsed.values()) else []
    readings += [zone_reading()] if with_zone else []
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
    if fewer * EXCEPTIONS > more:
        return "", "day_or_month_first"
    return ("dmy" if days_first > days_second else "mdy"), ""


def find_time(column):
    given = column.given
    if has_none(given, lambda cell: not isinstance(cell, str) or parse_time(cell)):
        return None, ""
    times = {cell: cell if isinstance(cell, datetime.time) else parse_time(cell) if isinstance(cell, str) else None
             for cell in given}
    times = {cell: time for cell, time in times.items() if time is not None}
    if not times or not is_enough(sum(given[cell] for cell in times), column.total):
        return None, ""
    return Column("time", "TIME", times), ""
