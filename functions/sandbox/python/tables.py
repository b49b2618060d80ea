"""Widths of the columns of tables."""

import re

from house import text_width
from markdown import plain

# Rows whose letters are measured.
_MEASURED = 200
# A cell that is one number, with a sign, a unit or a date, stays in one line.
NUMBER = re.compile(r"[^\w\s]?\s?\d[\d.,:/'\s%+−–-]*\S{0,3}")
# Where a line may end: at blanks, and beside Chinese characters.
TOKEN = re.compile(r"[\u2e80-\uffef]|[^\s\u2e80-\uffef]+")
# The largest share of the table that a single token takes.
_MAX_TOKEN = 0.45


def letter_width(text, _is_bold=False):
    """Returns the approximate width of a text, as a multiple of the font size."""
    return text_width(text) * 0.55


def column_widths(block, total, sizes, measure=letter_width, padding=14):
    """Returns a font size and the width of each column of a table, in the unit of `total` and of the font sizes.

    A column is at least as wide as its longest token, and no number is broken; the first size is chosen at which this
    is possible. `measure` returns the width of a text at the font size 1, `padding` is that of a cell.
    """
    least, wished = [], []
    for column in range(len(block.rows[0])):
        cells = [(plain(row[column]).strip(), number == 0) for number, row in enumerate(block.rows[:_MEASURED])
                 if column < len(row)]
        tokens = [(token, is_head) for cell, is_head in cells
                  for line in cell.split("\n") for token in ([line] if NUMBER.fullmatch(line) and len(line) < 24
                                                             else TOKEN.findall(line))]
        least.append(max((measure(token[:80], is_head) for token, is_head in tokens), default=1) + 0.2)
        wished.append(max((measure(line[:60], is_head) for cell, is_head in cells for line in cell.split("\n")),
                          default=1) + 0.4)
    for size in sizes:
        narrow = [min(width * size, total * _MAX_TOKEN) + padding for width in least]
        if sum(narrow) <= total:
            break
    else:
        return size, [total * width / sum(narrow) for width in narrow]
    wide = [max(least, width * size + padding) for least, width in zip(narrow, wished)]
    if sum(wide) <= total:
        return size, [width * total / sum(wide) for width in wide]
    room = (total - sum(narrow)) / (sum(wide) - sum(narrow))
    return size, [least + (width - least) * room for least, width in zip(narrow, wide)]
