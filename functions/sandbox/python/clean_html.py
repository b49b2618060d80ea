"""HTML as a tree of allowed content: no script, form or frame, and no address but `data:` and links.

The tree is written from a list of allowed elements, with all text escaped, so that the result does not depend on a
browser's parsing of invalid HTML.
"""

import html
import re
from html.parser import HTMLParser
from urllib.parse import unquote

from clean_css import clean_css, is_data, is_local

# Maximum nesting of elements; deeper elements are removed, and their text is kept.
MAX_DEPTH = 150

VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
# Removed with all content.
_DROPPED = frozenset("""script noscript iframe frame frameset noframes object embed applet param template portal
    fencedframe canvas audio video source track select option textarea input button datalist math base link meta
    title plaintext xmp noembed animate set animatetransform animatemotion foreignobject""".split())
_SCRIPTS = frozenset("script iframe frame object embed applet portal fencedframe foreignobject".split())
_HTML = frozenset("""a abbr address article aside b bdi bdo blockquote br caption center cite code col colgroup data
    dd del details dfn div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header hgroup hr i img ins kbd
    li main mark nav ol p pre q rp rt ruby s samp section small span strong sub summary sup table tbody td tfoot
    th thead time tr tt u ul var wbr svg""".split())
_SVG = frozenset("""svg g path rect circle ellipse line polyline polygon text tspan textpath defs lineargradient
    radialgradient stop clippath mask pattern marker symbol use image title desc filter fegaussianblur feoffset
    feblend feflood fecomposite femerge femergenode fecolormatrix fedropshadow a""".split())
_ATTRIBUTES = frozenset("""class id style title lang dir role align valign width height colspan rowspan span scope
    start type value reversed open datetime alt bgcolor border cellpadding cellspacing color face size headers abbr
    hidden""".split())
_SVG_ATTRIBUTES = frozenset("""viewbox preserveaspectratio x y x1 y1 x2 y2 cx cy r rx ry d points dx dy
    fx fy fr rotate textlength lengthadjust transform fill fill-opacity fill-rule stroke stroke-width stroke-opacity
    stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin stroke-miterlimit opacity offset stop-color
    stop-opacity font-family font-size font-weight font-style text-anchor dominant-baseline alignment-baseline
    baseline-shift letter-spacing word-spacing text-decoration writing-mode clip-path clip-rule mask filter
    marker-start marker-mid marker-end markerwidth markerheight markerunits refx refy orient gradientunits
    gradienttransform spreadmethod patternunits patterncontentunits patterntransform maskunits maskcontentunits
    clippathunits filterunits primitiveunits stddeviation in in2 result mode operator k1 k2 k3 k4 values
    flood-color flood-opacity color display visibility overflow vector-effect shape-rendering text-rendering
    paint-order startoffset pathlength""".split())
# Attributes that load content, besides `href` and `src`, which are checked.
_LOADED = frozenset("srcset poster background data action formaction ping manifest imagesrcset lowsrc dynsrc srcdoc "
                    "codebase archive longdesc usemap profile cite icon classid".split())
# A new element ends these preceding elements, up to the listed containers.
_ENDED = {"li": ("li",), "dt": ("dt", "dd"), "dd": ("dt", "dd"), "tr": ("tr", "td", "th"), "td": ("td", "th"),
          "th": ("td", "th"), "tbody": ("thead", "tbody", "tr", "td", "th"),
          "tfoot": ("thead", "tbody", "tr", "td", "th")}
_HOLDERS = frozenset("ul ol dl table".split())
_NO_PARAGRAPH = frozenset("""address article aside blockquote center details div dl figure footer h1 h2 h3 h4 h5 h6
    header hr main nav ol p pre section table ul""".split())
_LINK = re.compile(r"^(https?:|mailto:)", re.IGNORECASE)
_BLANKS = re.compile(r"[\x00-\x20\xa0]")


class Element:
    """An element with attributes (a dict) and content: elements and texts."""

    __slots__ = ("name", "attributes", "inside", "is_svg")

    def __init__(self, name, attributes, is_svg=False):
        self.name, self.attributes, self.inside, self.is_svg = name, attributes, [], is_svg

    def text(self):
        """Returns all text of the element."""
        return "".join(part if isinstance(part, str) else part.text() for part in self.inside)

    def find_all(self, matches):
        """Returns the outermost elements that satisfy `matches`."""
        for part in self.inside:
            if isinstance(part, Element):
                if matches(part):
                    yield part
                else:
                    yield from part.find_all(matches)


def write(element):
    """Returns the HTML of an element and its content."""
    told = "".join(f' {name}="{html.escape(value)}"' for name, value in element.attributes.items())
    if element.name in VOID:
        return f"<{element.name}{told}>"
    return f"<{element.name}{told}>{write_inside(element)}</{element.name}>"


def write_inside(element):
    """Returns the HTML of the content of an element."""
    return "".join(html.escape(part, quote=False) if isinstance(part, str) else write(part)
                   for part in element.inside)


class Cleaner(HTMLParser):
    """Reads HTML once: `body` is the tree, `sheets` are the style sheets, and `title` is the title.

    `task` provides images and records removed content.
    """

    def __init__(self, task):
        super().__init__(convert_charrefs=True)
        self.task, self.title, self.sheets = task, "", []
        self.body = Element("body", {})
        self._stack = [self.body]
        # The element whose text is not text of the page, and the number of open elements within it.
        self._dropped, self._sheet, self._in_title = [], None, False
        self._media = ""

    def read(self, text):
        """Reads a whole text."""
        self.feed(text)
        self.close()

    # Callbacks of the parser.

    def handle_starttag(self, name, pairs):
        self._start(name, pairs, False)

    def handle_startendtag(self, name, pairs):
        self._start(name, pairs, True)

    def handle_endtag(self, name):
        if self._dropped:
            if name == self._dropped[-1]:
                self._dropped.pop()
            return
        if name == "style":
            self._end_sheet()
        elif name == "title" and self._in_title:
            self._in_title = False
        elif any(element.name == name for element in self._stack[1:]):
            while self._stack.pop().name != name:
                pass

    def handle_data(self, data):
        if self._dropped:
            return
        if self._sheet is not None:
            self._sheet.append(data)
        elif self._in_title:
            self.title = (self.title + data)[:300]
        else:
            self._stack[-1].inside.append(data)

    def unknown_decl(self, data):
        # CDATA, as in SVG.
        if data.startswith("CDATA["):
            self.handle_data(data[6:])

    # Handling of elements.

    def _start(self, name, pairs, is_closed):
        if self._dropped:
            # Only an element of the same name ends removed content.
            if name == self._dropped[-1] and name not in VOID and not is_closed:
                self._dropped.append(name)
            return
        in_svg = self._stack[-1].is_svg
        if name == "style":
            self._sheet, self._media = ([], _media(pairs)) if not is_closed else (None, "")
        elif name == "title" and not in_svg:
            self._in_title = not is_closed
        elif name in _DROPPED and not (in_svg and name in _SVG):
            self._drop(name, pairs, is_closed)
        elif name == "body":
            self.body.attributes.update(self._attributes(name, pairs, False))
        elif name in (_SVG if in_svg else _HTML):
            self._open(name, pairs, is_closed, in_svg or name == "svg")
        elif any(key.startswith("on") for key, _ in pairs):
            self.task.note("scripts")

    def _drop(self, name, pairs, is_closed):
        if name in _SCRIPTS:
            self.task.note("scripts")
        if name != "meta" and any(key in ("src", "href", "data", "srcset") for key, _ in pairs):
            self.task.note("addresses")
        if name not in VOID and not (is_closed and self._stack[-1].is_svg) and name != "frame":
            self._dropped.append(name)

    def _open(self, name, pairs, is_closed, is_svg):
        attributes = self._attributes(name, pairs, is_svg)
        if attributes is None:
            # Shows the alternative text instead.
            self._stack[-1].inside.append(dict(pairs).get("alt") or "")
            return
        if not is_svg:
            self._end_before(name)
        if len(self._stack) > MAX_DEPTH:
            self.task.note("cut")
            return
        element = Element(name, attributes, is_svg)
        self._stack[-1].inside.append(element)
        if name not in VOID and not (is_closed and is_svg):
            self._stack.append(element)

    def _end_before(self, name):
        """Ends elements that cannot contain the new element: an item in an item, a paragraph in a paragraph."""
        if name in _NO_PARAGRAPH and self._stack[-1].name == "p":
            self._stack.pop()
        ended = _ENDED.get(name, ())
        place = next((at for at in range(len(self._stack) - 1, 0, -1)
                      if self._stack[at].name in ended or self._stack[at].name in _HOLDERS), 0)
        while place and self._stack[place].name in ended:
            del self._stack[place:]
            place = len(self._stack) - 1

    def _attributes(self, name, pairs, is_svg):
        """Returns the allowed attributes, or None for a missing image."""
        kept = {}
        for key, value in pairs:
            value = value or ""
            if key.startswith("on"):
                self.task.note("scripts")
            elif key == "style":
                self._keep_style(value, kept)
            elif key in ("href", "xlink:href", "src"):
                if not self._address(name, key, value, is_svg, kept):
                    return None
            elif key in _LOADED or key.endswith(":href"):
                self.task.note("addresses")
            elif key in _ATTRIBUTES or key.startswith(("aria-", "data-")) or (is_svg and key in _SVG_ATTRIBUTES):
                self._plain(key, value, kept)
        if name == "img" and "src" not in kept:
            return None
        return kept

    def _plain(self, key, value, kept):
        if re.search(r"url\s*\(|\\", value, re.IGNORECASE) and key not in ("title", "alt"):
            # A style attribute of SVG, which may name a part of the page.
            value = self._style(value)
        if re.fullmatch(r"[a-z][a-z0-9:_-]*", key):
            kept[key] = value

    def _keep_style(self, text, kept):
        if style := self._style(text):
            kept["style"] = style

    def _style(self, text):
        cleaned, left_out = clean_css(text, self._file_address)
        if left_out:
            self.task.note("addresses")
        return cleaned

    def _address(self, name, key, value, is_svg, kept):
        """Keeps an allowed address; returns False if the element is useless without the address."""
        value = value.strip()
        if name == "a" and key != "src":
            plain = _BLANKS.sub("", value)
            if is_local(plain):
                kept["href"] = plain
            elif _LINK.match(plain):
                kept.update(href=value, rel="noopener noreferrer", target="_blank")
            elif plain:
                self.task.note("scripts" if ":" in plain.split("/")[0] else "addresses")
            return True
        if is_svg and key != "src" and is_local(value):
            kept["href"] = value
            return True
        if name not in ("img", "image"):
            self.task.note("addresses")
            return True
        address = value if is_data(value) else self._file_address(value)
        if address is None:
            self.task.tell_missing(value)
            if "://" in value or value.startswith("//"):
                self.task.note("addresses")
            return False
        kept["href" if name == "image" else "src"] = address
        return True

    def _file_address(self, address):
        """Returns the `data:` URL of an image file of the job."""
        return data_address(self.task, unquote(address))

    def _end_sheet(self):
        if self._sheet is None:
            return
        sheet = self._style("".join(self._sheet))
        self._sheet = None
        if sheet:
            self.sheets.append(f"@media {self._media} {{ {sheet} }}" if self._media else sheet)

    def close(self):
        super().close()
        self._end_sheet()


def _media(pairs):
    """Returns the media of a sheet, unless it applies to all."""
    value = dict(pairs).get("media") or ""
    return value if re.fullmatch(r"[a-zA-Z0-9 ():.,-]{1,100}", value) and value != "all" else ""


def data_address(task, name):
    """Returns the `data:` URL of an image file of the job, or None for any other name."""
    import base64

    if "://" in name or name.startswith(("//", "data:", "javascript:")):
        return None
    if name.lower().split("?")[0].endswith(".svg"):
        content, kind = task.drawing(name), "svg+xml"
    else:
        picture = task.picture(name, again=True)
        content, kind = (picture.content, picture.format.lower()) if picture else (None, "")
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}" if content else None
