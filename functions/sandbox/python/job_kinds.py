"""The actions of a jailed child, by kind of job."""

import local_time
import plain_cells
from block import run_block

# Paths of the fonts for documents.
_fonts = []


def load_libraries(fonts):
    """Imports common libraries once, and sets the fonts (paths) for charts."""
    import matplotlib

    _fonts.extend(fonts)
    matplotlib.use("Agg")
    import house
    import matplotlib.pyplot
    import numpy
    import openpyxl
    import pandas
    import python_calamine
    import seaborn
    import typesetting
    from chart_fonts import load_fonts

    matplotlib.style.use(house.STYLE)
    load_fonts(fonts)
    typesetting.load_fonts(fonts)
    plain_cells.keep_texts()
    # Calamine is faster, but takes memory for every cell up to the last.
    pandas.set_option("io.excel.xlsx.reader", "openpyxl")
    # Fills caches of fonts and locales once, instead of in every child.
    figure = matplotlib.pyplot.figure()
    figure.text(0, 0, "0")
    figure.canvas.draw()
    matplotlib.pyplot.close("all")
    del numpy, openpyxl, pandas, python_calamine, seaborn


def perform(kind, arguments, state, new_state):
    """Runs a job in the current folder and returns its result, which is JSON.

    Blocks of Python read the variables of the previous block from the descriptor `state` and write their own to
    `new_state`.
    """
    if kind == "python":
        return run_block(**arguments, state=state, new_state=new_state)
    return _KINDS[kind](**arguments)


def _look(names, language):
    from look import look

    return {name: look(name, name, language) for name in names}


def _extract(name, offset, limit, language):
    from extract import Unreadable, extract

    try:
        return extract(name, name, offset, limit, language)
    except Unreadable as error:
        return {"text": "", "total_chars": 0, "next_offset": None, "notes": [], "problem": f"{error}"}


def _render(format, name, text, title, language):
    from render import render

    return render(format, name, text, title, language, _fonts)


def _scale(names, max_edge, max_bytes):
    from scale import scale

    return {name: scale(name, max_edge, max_bytes) for name in names}


def _read_tables(names, rule=None, time_zone=local_time.UTC):
    local_time.set_time_zone(time_zone)
    try:
        from read_tables import read_tables
        from table_rule import read_ruled_table
    except ModuleNotFoundError:
        # The archive has no room for DuckDB.
        return {name: {"tables": [], "notes": [], "problem": "not_installed"} for name in names}
    if rule is not None:
        return {name: read_ruled_table(name, name, rule) for name in names}
    return {name: read_tables(name, name) for name in names}


def _query(tables, queries, accepted, seconds, time_zone=local_time.UTC):
    local_time.set_time_zone(time_zone)
    try:
        from run_queries import run_queries
    except ModuleNotFoundError:
        return {"results": [], "problem": "not_installed"}
    return run_queries(tables, queries, accepted, seconds)


def _show_rows(results):
    try:
        from fetched_rows import show_fetched
    except ModuleNotFoundError:
        return {"results": [], "problem": "not_installed"}
    return show_fetched(results)


_KINDS = {"look": _look, "extract": _extract, "render": _render, "scale": _scale, "read_tables": _read_tables,
          "query": _query, "show_rows": _show_rows}
