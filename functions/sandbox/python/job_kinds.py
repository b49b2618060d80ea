"""What a jailed child can do, by the kind of its job."""

import os

# Paths of the fonts that documents are given.
_fonts = []


def load_libraries(fonts):
    """Imports once what most code needs, and makes the fonts (paths) those of charts."""
    import matplotlib

    _fonts.extend(fonts)
    matplotlib.use("Agg")
    import matplotlib.pyplot
    import numpy
    import openpyxl
    import pandas
    import python_calamine
    import seaborn
    from matplotlib import font_manager

    families = []
    for font in fonts:
        font_manager.fontManager.addfont(font)
        families.append(font_manager.FontProperties(fname=font).get_name())
    matplotlib.rcParams["font.sans-serif"] = [*families, *matplotlib.rcParams["font.sans-serif"]]
    matplotlib.rcParams["axes.unicode_minus"] = False
    matplotlib.rcParams["axes.formatter.limits"] = (-5, 9)
    # Caches of fonts and locales that would be filled in every child.
    figure = matplotlib.pyplot.figure()
    figure.text(0, 0, "0")
    figure.canvas.draw()
    matplotlib.pyplot.close("all")
    del numpy, openpyxl, pandas, python_calamine, seaborn


def perform(kind, arguments, folder):
    """Does what `kind` says in the current folder; what it returns is JSON.

    `folder` is the one that holds the current one; what lies beside that is no product.
    """
    return _KINDS[kind](folder=folder, **arguments)


def _python(folder, code, earlier):
    from block import run_block

    return run_block(code, earlier, os.path.join(folder, "state"))


def _look(folder, names, language):
    from look import look

    return {name: look(name, name, language) for name in names}


def _extract(folder, name, offset, limit, language):
    from extract import Unreadable, extract

    try:
        return extract(name, name, offset, limit, language)
    except Unreadable as error:
        return {"text": "", "total_chars": 0, "next_offset": None, "notes": [], "problem": f"{error}"}


def _render(folder, format, name, text, title, language):
    from render import render

    return render(format, name, text, title, language, _fonts)


def _scale(folder, names, max_edge, max_bytes):
    from scale import scale

    return {name: scale(name, max_edge, max_bytes) for name in names}


_KINDS = {"python": _python, "look": _look, "extract": _extract, "render": _render, "scale": _scale}
