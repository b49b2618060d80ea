"""Formulas in LaTeX: as nodes, as runs of text within a line, and as an equation of Word."""

import re
from html import escape

from formula_symbols import SYMBOLS

# Maximum characters of a formula, and levels of its parts.
MAX_FORMULA, MAX_DEPTH = 2_000, 30

# Text keeps its blanks.
_UPRIGHT = re.compile(r"\\(?:text|mathrm|operatorname|textrm|mathsf|texttt|mathtt|mbox)\s*\{([^{}]*)\}")
_TOKEN = re.compile(rf"{_UPRIGHT.pattern}|\\[A-Za-z]+|\\.|[^\s]", re.DOTALL)
_STYLED = frozenset("mathbf boldsymbol mathit mathcal mathbb mathrm mathsf mathtt mathscr mathfrak textbf textit bm".split())
_NAMES = frozenset("log ln exp sin cos tan cot min max lim sup inf arg det dim ker Pr gcd softmax argmax argmin".split())
_SPACES = {"quad": "\u2003", "qquad": "\u2003\u2003", ",": "\u2009", ";": "\u2005", ":": "\u2005", " ": " ", "!": "",
           **dict.fromkeys("displaystyle textstyle limits nolimits left right middle big Big bigl bigr Bigl Bigr bigg Bigg"
                           " biggl biggr Biggl Biggr".split(), "")}
_MORE = {"cdots": "⋯", "ldots": "…", "dots": "…", "le": "≤", "ge": "≥", "ne": "≠", "to": "→", "lt": "<", "gt": ">",
         "|": "‖", "mid": "∣", "lvert": "|", "rvert": "|", "langle": "⟨", "rangle": "⟩", "lbrace": "{", "rbrace": "}",
         "iff": "⇔", "implies": "⇒", "land": "∧", "lor": "∨", "lnot": "¬"}
# Signs that mean themselves after a backslash; nothing ends a formula that is cut.
_LITERAL = ("", *"{}%&_#$")
_LARGE = frozenset("∑∏∫∮⋃⋂")
_ACCENTS = {"hat": "\u0302", "bar": "\u0305", "tilde": "\u0303", "vec": "\u20d7", "dot": "\u0307", "overline": "\u0305",
            "widehat": "\u0302", "widetilde": "\u0303", "ddot": "\u0308", "acute": "\u0301", "grave": "\u0300",
            "breve": "\u0306", "check": "\u030c", "mathring": "\u030a"}
# Letters of number sets that Unicode has outside of the alphabet of such letters.
_SETS = dict(zip("CHNPQRZ", "ℂℍℕℙℚℝℤ"))


class _Parser:
    """Reads a formula into nodes: `("text", letters, is_upright)`, `("row", nodes)`, `("frac", above, below)`,
    `("binom", above, below)`, `("root", inside, degree)`, `("scripts", base, below, above)`, `("accent", mark, inside)`,
    `("fence", begin, inside, end)`. `is_known` is false after an unknown command.
    """

    def __init__(self, latex):
        self.tokens = [found[0] for found in _TOKEN.finditer(latex[:MAX_FORMULA])]
        self.at = self.depth = 0
        self.is_known = True

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
        if name in ("binom", "dbinom", "tbinom"):
            return ("binom", self.atom(), self.atom())
        if name in ("overset", "underset"):
            script, base = self.atom(), self.atom()
            return ("scripts", base, None, script) if name == "overset" else ("scripts", base, script, None)
        if name == "sqrt":
            degree = None
            if self.peek() == "[":
                self.take()
                degree = self.row(("]",))
                self.take()
            return ("root", self.atom(), degree)
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
            inside = self.atom()
            letters = plain(inside)
            is_set = name == "mathbb" and letters.isascii() and letters.isupper()
            return ("text", "".join(map(_set_letter, letters)), True) if is_set else inside
        return ("text", *self.symbol(name))

    def delimiter(self):
        token = self.take()
        return "" if token == "." else self.symbol(token[1:])[0] if token.startswith("\\") else token

    def symbol(self, name):
        """Returns the letters of a command, and true if they are upright. An unknown command is its own name."""
        if name in _SPACES:
            return _SPACES[name], True
        if name in _NAMES:
            return name + "\u2009", True
        found = _MORE.get(name) or SYMBOLS.get(name)
        if found is None:
            found = name
            self.is_known = self.is_known and name in _LITERAL
        return found, not found.isalpha() or found.isupper()


def _set_letter(letter):
    return _SETS.get(letter) or chr(ord("𝔸") + ord(letter) - ord("A"))


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
    elif kind == "binom":
        yield "(", False, script
        yield from line(node[1], script)
        yield " ", False, script
        yield from line(node[2], script)
        yield ")", False, script
    elif kind == "root":
        yield from line(node[2], script or "sup") if node[2] else ()
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


def parse_known(latex):
    """Returns the node of a formula, or None if it is empty or has an unknown command."""
    parser = _Parser(latex)
    node = parser.row()
    return node if parser.is_known and plain(node).strip() else None


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
    if kind == "binom":
        return (f'<m:d><m:e><m:f><m:fPr><m:type m:val="noBar"/></m:fPr><m:num>{_omml(node[1])}</m:num>'
                f"<m:den>{_omml(node[2])}</m:den></m:f></m:e></m:d>")
    if kind == "root":
        degree = f"<m:deg>{_omml(node[2])}</m:deg>" if node[2] else '<m:radPr><m:degHide m:val="1"/></m:radPr><m:deg/>'
        return f"<m:rad>{degree}<m:e>{_omml(node[1])}</m:e></m:rad>"
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
