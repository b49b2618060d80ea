"""The chart that fits a result: a choice by its columns and values."""

# Maximum points of a line, bars, and parts of a pie.
_MAX_POINTS, _MAX_BARS, _MAX_PARTS = 1_000, 30, 6
_TIMES = ("date", "timestamp")
_NUMBERS = ("integer", "decimal", "number")
# Aggregates whose values add up to a whole.
_ADDITIVE = ("sum", "count")


def choose_chart(columns, rows):
    """Returns `{"kind", "x", "y"}` with `line`, `bar` or `pie` and keys of columns, or `{"kind": "table"}`.

    A chart needs one dimension and at least one measure, as the query shows them.
    """
    dimensions = [column for column in columns if column.get("role") == "dimension"]
    measures = [column for column in columns if column.get("role") == "measure" and column["type"] in _NUMBERS]
    if len(dimensions) != 1 or not measures or len(dimensions) + len(measures) != len(columns) or len(rows) < 2:
        return {"kind": "table"}
    [dimension] = dimensions
    kind = _choose_kind(dimension, measures, columns, rows)
    if kind == "table":
        return {"kind": "table"}
    return {"kind": kind, "x": dimension["key"], "y": [measure["key"] for measure in measures]}


def _choose_kind(dimension, measures, columns, rows):
    if dimension["type"] in _TIMES or _is_period(dimension, columns, rows):
        return "line" if len(rows) <= _MAX_POINTS else "table"
    if len(rows) > _MAX_BARS:
        return "table"
    if len(rows) < _MAX_PARTS and len(measures) == 1 and _is_whole(measures[0], columns, rows):
        return "pie"
    return "bar"


def _is_period(dimension, columns, rows):
    """Returns true for years and months, written as numbers or texts such as `2024-01`."""
    place = columns.index(dimension)
    values = [row[place] for row in rows]
    if dimension["type"] == "integer":
        return all(isinstance(value, int) and 1900 <= value <= 2100 for value in values)
    return all(isinstance(value, str) and len(value) in (7, 10) and value[:4].isdecimal() and value[4] == "-"
               and value[5:7].isdecimal() for value in values)


def _is_whole(measure, columns, rows):
    """Returns true if the values are parts of a whole: sums or counts, none of them negative, in no given order."""
    place = columns.index(measure)
    values = [row[place] for row in rows]
    return (measure.get("aggregate") in _ADDITIVE and "order" not in measure
            and all(isinstance(value, (int, float)) and value >= 0 for value in values))
