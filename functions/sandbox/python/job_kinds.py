"""The actions of a jailed child, by kind of job. Each sandbox has its own libraries and runs its own kinds of jobs."""

import sys

import local_time
import plain_cells

# The sandboxes: one runs code of models, the other only reads documents and tables, creates documents, runs queries.
CODE, DOCUMENTS = "code", "documents"

# Packages that the archive for documents has no room for.
_NOT_FOR_DOCUMENTS = ("numpy", "pandas", "matplotlib", "seaborn")

# Paths of the fonts for documents.
_fonts = []
# The jobs of this process's sandbox, by kind.
_jobs = {}


def load_libraries(sandbox, fonts):
    """Imports the common libraries of a sandbox once, and sets the fonts (paths) for charts and documents."""
    _fonts.extend(fonts)
    _jobs.update(_KINDS[sandbox])
    plain_cells.keep_texts()
    _LOADERS[sandbox](fonts)


def _load_for_code(fonts):
    import matplotlib

    matplotlib.use("Agg")
    import house
    import matplotlib.pyplot
    import numpy
    import openpyxl
    import pandas
    import python_calamine
    import seaborn
    from chart_fonts import load_fonts

    matplotlib.style.use(house.STYLE)
    load_fonts(fonts)
    plain_cells.keep_texts_in_workbooks()
    # Calamine is faster, but takes memory for every cell up to the last.
    pandas.set_option("io.excel.xlsx.reader", "openpyxl")
    # Fills caches of fonts and locales once, instead of in every child.
    figure = matplotlib.pyplot.figure()
    figure.text(0, 0, "0")
    figure.canvas.draw()
    matplotlib.pyplot.close("all")
    del numpy, openpyxl, pandas, python_calamine, seaborn


def _load_for_documents(fonts):
    for name in _NOT_FOR_DOCUMENTS:
        # An import fails on a laptop too, where one Python has the packages of both sandboxes.
        sys.modules.setdefault(name, None)
    import docx
    import markdown_it
    import openpyxl
    import pptx
    import python_calamine
    import read_tables
    import run_queries
    import typesetting
    from PIL import Image

    typesetting.load_fonts(fonts)
    Image.preinit()
    del docx, markdown_it, openpyxl, pptx, python_calamine, read_tables, run_queries


def perform(kind, arguments, state, new_state):
    """Runs a job in the current folder and returns its result, which is JSON.

    Blocks of Python read the variables of the previous block from the descriptor `state` and write their own to
    `new_state`. Raises `KeyError` for a job of the other sandbox.
    """
    if kind == "python":
        arguments = {**arguments, "state": state, "new_state": new_state}
    return _jobs[kind](**arguments)


def _python(**arguments):
    from block import run_block

    return run_block(**arguments)


def _look(names, language):
    from look import look

    return {name: look(name, name, language) for name in names}


def _extract(name, offset, limit, language):
    from extract import Unreadable, extract

    try:
        return extract(name, name, offset, limit, language)
    except Unreadable as error:
        return {"text": "", "total_chars": 0, "next_offset": None, "notes": [], "problem": f"{error}"}


def _render(format, name, text, title, language, theme=None):
    import house
    from render import render

    house.use_theme(theme)
    return render(format, name, text, title, language, _fonts)


def _scale(names, max_edge, max_bytes):
    from scale import scale

    return {name: scale(name, max_edge, max_bytes) for name in names}


def _read_tables(names, rule=None, time_zone=local_time.UTC):
    from read_tables import read_tables
    from table_rule import read_ruled_table

    local_time.set_time_zone(time_zone)
    if rule is not None:
        return {name: read_ruled_table(name, name, rule) for name in names}
    return {name: read_tables(name, name) for name in names}


def _query(tables, queries, accepted, seconds, time_zone=local_time.UTC):
    from run_queries import run_queries

    local_time.set_time_zone(time_zone)
    return run_queries(tables, queries, accepted, seconds)


def _show_rows(results):
    from fetched_rows import show_fetched

    return show_fetched(results)


def _insights(name, measure, dimension=None, time=None):
    from insights import read_insights

    return read_insights(name, measure, dimension, time)


_LOADERS = {CODE: _load_for_code, DOCUMENTS: _load_for_documents}
_KINDS = {CODE: {"python": _python, "look": _look, "insights": _insights},
          DOCUMENTS: {"extract": _extract, "render": _render, "scale": _scale, "read_tables": _read_tables,
                      "query": _query, "show_rows": _show_rows}}
