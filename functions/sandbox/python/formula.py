"""Formulas in LaTeX: as runs of text within a line, as a drawing, and as an equation of Word."""

import re
from html import escape

from drawing import Drawing

# Maximum characters of a formula, and levels of its parts.
MAX_FORMULA, MAX_DEPTH = 2_000, 30

# Text keeps its blanks.
_UPRIGHT = re.compile(r"\\(?:text|mathrm|operatorname|textrm|mathsf|texttt|mathtt|mbox)\s*\{([^{}]*)\}")
_TOKEN = re.compile(rf"{_UPRIGHT.pattern}|\\[A-Za-z]+|\\.|[^\s]", re.DOTALL)
_STYLED = frozenset("mathbf boldsymbol mathit mathcal mathbb textbf textit bm".split())
_NAMES = frozenset("log ln exp sin cos tan cot min max lim sup inf arg det dim ker Pr gcd softmax argmax argmin".split())
_SPACES = {"quad": "\u2003", "qquad": "\u2003\u2003", ",": "\u2009", ";": "\u2005", ":": "\u2005", " ": " ", "!": "",
           "displaystyle": "", "limits": "", "nolimits": "", "left": "", "right": "", "big": "", "Big": ""}
_MORE = {"cdots": "⋯", "ldots": "…", "dots": "…", "le": "≤", "ge": "≥", "ne": "≠", "to": "→", "lt": "<", "gt": ">",
         "|": "‖", "mid": "∣", "lvert": "|", "rvert": "|", "langle": "⟨", "rangle": "⟩", "lbrace": "{", "rbrace": "}",
         "iff": "⇔", "implies": "⇒", "land": "∧", "lor": "∨", "lnot": "¬"}
_LARGE = frozenset("∑∏∫∮⋃⋂")
_ACCENTS = {"hat": "\u0302", "bar": "\u0305", "tilde": "\u0303", "vec": "\u20d7", "dot": "\u0307", "overline": "\u0305"}


class _Parser:
    """Reads a formula into nodes: `("text", letters, is_upright)`, `("row", nodes)`, `("frac", above, below)`,
    `("root", inside)`, `("scripts", base, below, above)`, `("accent", mark, inside)`, `("fence", begin, inside, end)`.
    """

    def __init__(self, latex):
        self.tokens = [found[0] for found in _TOKEN.finditer(latex[:MAX_FORMULA])]
        self.at = self.depth = 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self):
        token = self.peek()
        self.at += 1
        return token

    def row(self, ends=("",)):
        """Reads nodes up to one of the ends, or up to the end of the formula."""
        nodes = []
        self.depth += 1
        while self.peek() and self.peek() not in ends and self.depth < MAX_DEPTH:
            if self.peek() in "^_":
                base = nodes.pop() if nodes else ("row", [])
                found = {"^": None, "_": None}
                while self.peek() and self.peek() in "^_":
                    way = self.take()
                    found[way] = self.atom()
                nodes.append(("scripts", base, found["_"], found["^"]))
            else:
                nodes.append(self.atom())
        self.depth -= 1
        return ("row", nodes)

    def atom(self):
        token = self.take()
        if token == "{":
            inside = self.row(("}",))
            self.take()
            return inside
        if not token.startswith("\\"):
            return ("text", {"-": "−", "*": "∗", "'": "′", "~": " "}.get(token, "" if token in "{}&" else token),
                    not token.isalpha())
        name = token[1:]
        if name in ("frac", "dfrac", "tfrac"):
            return ("frac", self.atom(), self.atom())
        if name == "sqrt":
            degree = self.peek() == "["
            while degree and self.take() not in ("]", ""):
                pass
            return ("root", self.atom())
        if name == "left":
            begin = self.delimiter()
            inside = self.row(("\\right",))
            self.take()
            return ("fence", begin, inside, self.delimiter())
        if name in _ACCENTS:
            return ("accent", _ACCENTS[name], self.atom())
        if found := _UPRIGHT.fullmatch(token):
            return ("text", found[1], True)
        if name in _STYLED:
            return self.atom()
        return ("text", *_symbol(name))

    def delimiter(self):
        token = self.take()
        return "" if token == "." else _symbol(token[1:])[0] if token.startswith("\\") else token


def _symbol(name):
    from matplotlib._mathtext_data import tex2uni

    if name in _SPACES:
        return _SPACES[name], True
    if name in _NAMES:
        return name + "\u2009", True
    found = _MORE.get(name) or (chr(tex2uni[name]) if name in tex2uni else "" if name == "" else name)
    return found, not found.isalpha() or found.isupper()


def parse(latex):
    """Returns the node of a formula."""
    return _Parser(latex).row()


def plain(node):
    """Returns the letters of a node."""
    return node[1] if node[0] == "text" else "".join(text for text, *_ in line(node))


def line(node, script=""):
    """Yields a node as text in a line: `(text, is_italic, "sub"|"sup"|"")`."""
    kind = node[0]
    if kind == "text":
        text = node[1]
        if not script and text and text in "=+−<>≤≥≠≈∼→⇒∈∝×±≪≫≡":
            text = f"\u2009{text}\u2009"
        yield text, not node[2], script
    elif kind == "row":
        for part in node[1]:
            yield from line(part, script)
    elif kind == "frac":
        yield from _inside(node[1], script)
        yield "/", False, script
        yield from _inside(node[2], script)
    elif kind == "root":
        yield "√", False, script
        yield from _inside(node[1], script)
    elif kind == "scripts":
        yield from line(node[1], script)
        for part, way in ((node[2], "sub"), (node[3], "sup")):
            yield from line(part, script or way) if part else ()
    elif kind == "accent":
        yield from ((text + node[1], *more) for text, *more in line(node[2], script))
    else:
        yield node[1], False, script
        yield from line(node[2], script)
        yield node[3], False, script


def _inside(node, script):
    """Yields a part of a fraction or a root, in parentheses unless it is one sign."""
    is_one = len(plain(node)) <= 1 or node[0] == "row" and len(node[1]) == 1 and node[1][0][0] in ("scripts", "root")
    yield "" if is_one else "(", False, script
    yield from line(node, script)
    yield "" if is_one else ")", False, script


def draw_formula(latex, size=15):
    """Returns the drawing of a formula, or None if it has an unknown command."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.path import Path
    from matplotlib.textpath import TextPath

    one_line = " ".join(latex[:MAX_FORMULA].split()).replace("\\frac", "\\dfrac")
    try:
        path = TextPath((0, 0), f"${one_line}$", size=size, prop=FontProperties(math_fontfamily="stix"))
    except (ValueError, RecursionError):
        return None
    if not len(path.vertices):
        return None
    edges = path.get_extents()
    drawing = Drawing(edges.width + 4, edges.height + 4, latex)
    steps = []
    last = (0, 0)
    for points, code in path.iter_segments(curves=True, simplify=False):
        ends = [(x - edges.x0 + 2, edges.y1 - y + 2) for x, y in zip(points[::2], points[1::2])]
        if code == Path.CURVE3:
            # A quadratic curve as a cubic one.
            middle, end = ends
            ends = [*(tuple(a + (b - a) * 2 / 3 for a, b in zip(near, middle)) for near in (last, end)), end]
        steps.append(("Z", []) if code == Path.CLOSEPOLY else ({Path.MOVETO: "M", Path.LINETO: "L"}.get(code, "C"), ends))
        last = ends[-1] if ends else last
    drawing.outline(steps, "ink")
    return drawing


def to_omml(node, is_alone):
    """Returns a formula as the XML of an equation of Word, in a line of its own or within a line."""
    space = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    if is_alone:
        return f"<m:oMathPara {space}><m:oMath>{_omml(node)}</m:oMath></m:oMathPara>"
    return f"<m:oMath {space}>{_omml(node)}</m:oMath>"


def _omml(node):
    kind = node[0]
    if kind == "text":
        look = '<m:rPr><m:sty m:val="p"/></m:rPr>' if node[2] else ""
        return f'<m:r>{look}<m:t xml:space="preserve">{escape(node[1])}</m:t></m:r>' if node[1] else ""
    if kind == "row":
        return _omml_row(node[1])
    if kind == "frac":
        return f"<m:f><m:num>{_omml(node[1])}</m:num><m:den>{_omml(node[2])}</m:den></m:f>"
    if kind == "root":
        return f'<m:rad><m:radPr><m:degHide m:val="1"/></m:radPr><m:deg/><m:e>{_omml(node[1])}</m:e></m:rad>'
    if kind == "accent":
        return f'<m:acc><m:accPr><m:chr m:val="{node[1]}"/></m:accPr><m:e>{_omml(node[2])}</m:e></m:acc>'
    if kind == "fence":
        ends = f'<m:begChr m:val="{escape(node[1])}"/><m:endChr m:val="{escape(node[3])}"/>'
        return f"<m:d><m:dPr>{ends}</m:dPr><m:e>{_omml(node[2])}</m:e></m:d>"
    base, below, above = node[1:]
    name = "sSubSup" if below and above else "sSub" if below else "sSup"
    scripts = "".join(f"<m:{tag}>{_omml(part)}</m:{tag}>" for tag, part in (("sub", below), ("sup", above)) if part)
    return f"<m:{name}><m:e>{_omml(base)}</m:e>{scripts}</m:{name}>"


def _omml_row(nodes):
    """Returns nodes in a row; what follows a large sign, such as a sum, belongs to the sign."""
    written = []
    for place, node in enumerate(nodes):
        base, below, above = node[1:] if node[0] == "scripts" else (node, None, None)
        if base[0] == "text" and base[1] and base[1] in _LARGE and place + 1 < len(nodes):
            hidden = "".join(f'<m:{name}Hide m:val="1"/>' for name, part in (("sub", below), ("sup", above)) if not part)
            parts = "".join(f"<m:{name}>{_omml(part) if part else ''}</m:{name}>"
                            for name, part in (("sub", below), ("sup", above)))
            written.append(f'<m:nary><m:naryPr><m:chr m:val="{base[1]}"/><m:limLoc m:val="undOvr"/>{hidden}</m:naryPr>'
                           f"{parts}<m:e>{_omml_row(nodes[place + 1:])}</m:e></m:nary>")
            break
        written.append(_omml(node))
    return "".join(written)
