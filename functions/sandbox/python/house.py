"""The house style of documents: colors as RRGGBB."""

import os
import re

STYLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "style.mplstyle")
with open(STYLE, encoding="utf-8") as _file:
    _CHARTS = dict(line.split(": ", 1) for line in _file.read().splitlines() if not line.startswith("#"))

# The colors of series, in their order; the first is the accent of documents.
SERIES = tuple(re.findall('"([0-9A-F]{6})"', _CHARTS["axes.prop_cycle"]))
INK, SOFT_INK, GRID = (_CHARTS[name] for name in ("text.color", "axes.labelcolor", "grid.color"))
ACCENT, SECOND = SERIES[0], SERIES[1]
# The accent as a dark ground, the head of tables, soft grounds, and lines.
DARK, HEAD, SOFT, LINES = "12304A", "E4EDF4", "F5F7F9", "C9D2DB"
LINK = "0B62C4"
# The fonts of Office documents.
LATIN, CHINESE, CODE = "Calibri", "Microsoft YaHei", "Consolas"


def text_width(text):
    """Returns the approximate width of a text in Latin letters; the longest line counts."""
    return max(sum(1.9 if letter >= "\u2e80" else 1 for letter in line[:400]) for line in text.split("\n"))
