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
# The fonts of Office documents; the last is that of scripts such as Arabic and Thai.
LATIN, CHINESE, CODE, OTHERS = "Calibri", "Microsoft YaHei", "Consolas", "Arial"
# The line at the foot of a deployment's documents, the file of its logo, and its Word and PowerPoint files; or empty.
FOOTER, LOGO, DOCX, PPTX = "", "", "", ""
_OURS = {name: value for name, value in globals().items() if name.isupper() and not name.startswith("_")}


def use_theme(theme):
    """Makes the theme of a deployment the style of this process, which renders one document; without one, ours.

    `theme` has these keys, all optional: `colors` (six), `dark`, `latin`, `chinese`, `footer`, and the files `logo`,
    `docx` and `pptx`.
    """
    style, theme = dict(_OURS), theme or {}
    if colors := theme.get("colors"):
        style |= {"SERIES": tuple(colors), "ACCENT": colors[0], "SECOND": colors[1], "HEAD": mixed(colors[0], 0.12),
                  "DARK": shaded(colors[0], 0.55)}
    named = {key.upper(): theme[key] for key in ("dark", "latin", "chinese", "footer", "logo", "docx", "pptx")
             if theme.get(key)}
    globals().update(style | named)


def is_themed(*names):
    """Returns true for the style of a deployment; with names, if it has its own one of these parts of the style."""
    return any(globals()[name] != _OURS[name] for name in names or _OURS)


def mixed(color, share):
    """Returns a color with this share in white."""
    return "".join(f"{round(255 - (255 - part) * share):02X}" for part in bytes.fromhex(color))


def shaded(color, share):
    """Returns a color with this share in black."""
    return "".join(f"{round(part * share):02X}" for part in bytes.fromhex(color))


def text_width(text):
    """Returns the approximate width of a text in Latin letters; the longest line counts."""
    return max(sum(1.9 if letter >= "\u2e80" else 1 for letter in line[:400]) for line in text.split("\n"))
