"""Formulas in lines of their own as drawings, typeset by typst."""

import html
import json
import re

import formula
import typst
from typesetting import FONTS, read_template, typeset

_SIZE = 15
_PAGE = f"""#import "formula.typ": formula
#let data = json("formula.json")
#set page(width: auto, height: auto, margin: 2pt, fill: none)
#set text(font: data.fonts, size: {_SIZE}pt)
#math.equation(block: true, formula(data.formula))"""
_SIZES = re.compile(r'<svg viewBox="0 0 (\S+) (\S+)"[^>]*>')
_SYMBOL = re.compile(r'<symbol id="(\w+)"[^>]*><path d="([^"]*)"/></symbol>')
_USE = re.compile(r'<use xlink:href="#(\w+)" x="(\S+)" y="(\S+)"[^>]*/>')


def draw_formula(latex, fonts):
    """Returns the drawing of a formula, or None if it is empty or has an unknown command; `fonts` are paths."""
    node = formula.parse_known(latex)
    if node is None:
        return None
    try:
        return FormulaDrawing(latex, node, fonts)
    except typst.TypstError:
        return None


class FormulaDrawing:
    """A formula on `width` by `height` points."""

    def __init__(self, latex, node, fonts):
        self._latex, self._node = latex, node
        svg = self._typeset(fonts, format="svg").decode()
        sizes = _SIZES.match(svg)
        self.width, self.height = float(sizes[1]), float(sizes[2])
        letters = dict(_SYMBOL.findall(svg))
        shapes = svg[sizes.end():].partition("<defs")[0].removesuffix("</svg>")
        shapes = _USE.sub(lambda use: f'<path transform="translate({use[2]} {use[3]})" d="{letters[use[1]].strip()}"/>', shapes)
        self._shapes = shapes.replace("#000000", "currentColor")

    def to_svg(self):
        """Returns the drawing as an SVG element in the color of the page's text."""
        told = html.escape(self._latex[:formula.MAX_FORMULA])
        return (f'<svg viewBox="0 0 {self.width:g} {self.height:g}" role="img" aria-label="{told}" '
                f'fill="currentColor">{self._shapes}</svg>')

    def to_png(self, fonts, scale):
        """Returns the bytes of a PNG with `scale` pixels per point; `fonts` are paths."""
        return self._typeset(fonts, format="png", ppi=72 * scale)

    def _typeset(self, fonts, **options):
        content = json.dumps({"fonts": FONTS, "formula": self._node}).encode()
        files = {"formula.typ": read_template("formula.typ"), "formula.json": content}
        return typeset(_PAGE, files, fonts, **options)
