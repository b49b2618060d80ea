"""Rows of a database as the results of queries over files have them."""

import json
import math
import re
from decimal import Decimal

from query_chart import choose_chart
from read_tables import show_value
from run_queries import MAX_SHOWN_BYTES, choose_shown, describe_result, find_nearest, write_csv

# The offset from UTC at the end of a time.
_OFFSET = re.compile(r"[+-]\d\d(:\d\d)*$")


class _Pairs(list):
    """The names and values of a JSON object, in order: a result may have two columns of the same name."""


def show_fetched(results):
    """Returns `{"results"}` as `run_queries.run_queries` does.

    Each of `results` has `number`, `question`, `sql`, `filters`, `notes`, `facts`, `has_condition`, `is_cut`, `columns`
    (`name` and `type`), and `file`, a file with a JSON object for each row. A result without rows may have `reason`: the
    `filter` without which the query has rows, its `column`, `wanted` values and `values` that exist, `min` and `max`.
    """
    shown_bytes = MAX_SHOWN_BYTES // max(1, len(results))
    return {"results": [_show_result(result, shown_bytes) for result in results]}


def _show_result(result, shown_bytes):
    kinds = [column["type"] for column in result["columns"]]
    columns = describe_result([(column["name"], column["type"]) for column in result["columns"]], result["facts"])
    with open(result["file"], encoding="utf-8") as file:
        values = [_read_row(line, kinds) for line in file.read().split("\n") if line]
    shown = choose_shown(values, shown_bytes)
    is_empty = not values and not result["is_cut"]
    notes = result["notes"] + ([_explain_no_rows(result)] if is_empty and result["has_condition"] else [])
    return {"question": result["question"], "sql": result["sql"], "columns": columns, "filters": result["filters"],
            "row_count": len(values), "is_cut": result["is_cut"], "shown": len(shown),
            "rows": json.dumps(shown, ensure_ascii=False), "notes": notes, "chart": choose_chart(columns, values),
            "file": write_csv(result["number"], columns, values)}


def _explain_no_rows(result):
    reason = result.get("reason") or {}
    known = {key: reason[key] for key in ("filter", "column", "min", "max") if reason.get(key) not in (None, "")}
    near = find_nearest(reason["wanted"], reason["values"]) if reason.get("values") else []
    return {"code": "no_rows", **known, **({"near": near} if near else {})}


def _read_row(line, kinds):
    row = json.loads(line, parse_float=Decimal, object_pairs_hook=_Pairs)
    return [_read_value(value, kind) for (_, value), kind in zip(row, kinds)]


def _read_value(value, kind):
    if value is None or isinstance(value, bool):
        return value
    if kind in ("integer", "decimal", "number"):
        if isinstance(value, str) or not math.isfinite(value):
            # JSON has no NaN, so PostgreSQL writes it as text.
            return None
        return show_value(float(value) if kind == "number" else value)
    if isinstance(value, str):
        return _OFFSET.sub("", value) if kind in ("timestamp", "time") else value
    return json.dumps(_plain(value), ensure_ascii=False, default=show_value)


def _plain(value):
    if isinstance(value, _Pairs):
        return {name: _plain(inner) for name, inner in value}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value
