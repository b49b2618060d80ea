"""PDF documents."""

import io
from xml.sax.saxutils import escape, quoteattr

from markdown import Run, plain
from render_docx import column_widths
from words import words

# Points: A4.
_WIDTH, _HEIGHT = 595.28, 841.89
_MARGIN, _TOP, _BOTTOM = 62, 60, 62
_ROOM_WIDE = _WIDTH - 2 * _MARGIN
_ROOM_HIGH = _HEIGHT - _TOP - _BOTTOM - 12
# Maximum characters of a cell; a row higher than a page fits on no page.
_MAX_CELL = 900
_ACCENT, _TEXT, _SOFT_TEXT, _HEAD, _SOFT, _LINES = "#1F4E79", "#1F2933", "#5B6773", "#E3EBF4", "#F5F7F9", "#BFC7D1"
_SIZES = {1: 21, 2: 16, 3: 13, 4: 11.5, 5: 10.5, 6: 10.5}
_STANDARD = {(False, False): "Helvetica", (True, False): "Helvetica-Bold", (False, True): "Helvetica-Oblique",
             (True, True): "Helvetica-BoldOblique"}
_CODE = "Courier"
# Replacements for letters without a font.
_UNEMBEDDED = "STSong-Light"
_BULLETS = "•–▪"


def render_pdf(task, blocks, notes):
    """Returns the bytes of a document."""
    from reportlab import rl_config
    from reportlab.platypus import BaseDocTemplate, Frame, PageTemplate

    rl_config.invariant = 1
    writer = _Writer(task)
    first = blocks[0]
    if task.title and not (first.kind == "heading" and first.level == 1):
        writer.write_title(task.title)
    for block in blocks:
        getattr(writer, f"write_{block.kind}")(block)
    if notes:
        writer.write_notes(notes)
    written = io.BytesIO()
    document = BaseDocTemplate(written, pagesize=(_WIDTH, _HEIGHT), title=task.title, author="", subject="",
                               creator="", invariant=1, lang="zh-CN" if task.language == "zh" else "en-US")
    frame = Frame(_MARGIN, _BOTTOM, _ROOM_WIDE, _HEIGHT - _TOP - _BOTTOM, 0, 0, 0, 0)
    document.addPageTemplates(PageTemplate("page", [frame], onPage=_draw_number))
    document.build(writer.story)
    return written.getvalue()


def _draw_number(canvas, document):
    from reportlab.lib.colors import HexColor

    canvas.saveState()
    canvas.setFont("Helvetica", 9)
    canvas.setFillColor(HexColor(_SOFT_TEXT))
    canvas.drawCentredString(_WIDTH / 2, 34, f"{document.page}")
    canvas.restoreState()


class _Fonts:
    """The fonts of letters: first the fonts of every PDF reader, then the given fonts, then matplotlib's."""

    def __init__(self, paths):
        import os

        import matplotlib
        from reportlab.pdfbase import pdfmetrics
        from reportlab.pdfbase.cidfonts import UnicodeCIDFont

        wide = os.path.join(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")
        self.unread = [*paths, wide]
        self.others = []
        pdfmetrics.registerFont(UnicodeCIDFont(_UNEMBEDDED))
        self.known = {}

    def font_of(self, letter):
        """Returns the name of the font for a letter, or nothing for the fonts of every reader."""
        if letter not in self.known:
            self.known[letter] = self._look_for(letter)
        return self.known[letter]

    def _look_for(self, letter):
        try:
            letter.encode("cp1252")
            return ""
        except UnicodeEncodeError:
            pass
        for name, glyphs in self.others:
            if ord(letter) in glyphs:
                return name
        while self.unread:
            name, glyphs = self._read_next()
            if ord(letter) in glyphs:
                return name
        return _UNEMBEDDED if "\u2e80" <= letter <= "\uffef" else None

    def _read_next(self):
        """Reads the next font, which few documents need, and returns its name and glyphs."""
        from reportlab.pdfbase import pdfmetrics
        from reportlab.pdfbase.ttfonts import TTFont

        font = TTFont(f"Djinn{len(self.others)}", self.unread.pop(0))
        pdfmetrics.registerFont(font)
        self.others.append((font.fontName, font.face.charToGlyph))
        return self.others[-1]

    def parts(self, text):
        """Splits a text by font. A letter without a font becomes a box."""
        piece, last = [], ""
        for letter in text:
            font = self.font_of(letter)
            if font is None:
                # A box shows that a letter is missing; joiners and marks of emoji need none.
                letter, font = ("", last) if letter in "\u200b\u200d\ufe0e\ufe0f" else ("\u25a1", self.font_of("\u25a1"))
            if font != last and piece:
                yield "".join(piece), last
                piece = []
            last = font
            piece.append(letter)
        if piece:
            yield "".join(piece), last


class _Writer:
    """Writes blocks in order into `story`."""

    def __init__(self, task):
        self.task, self.story, self.fonts = task, [], _Fonts(task.fonts)
        self.styles, self.anchors, self.Bookmark = {}, 0, _bookmark_class()

    # Text

    def style(self, name, **looks):
        from reportlab.lib.colors import HexColor
        from reportlab.lib.styles import ParagraphStyle

        key = (name, *sorted(looks.items()))
        if key not in self.styles:
            told = {"fontName": "Helvetica", "fontSize": 10.5, "leading": 15.5, "textColor": _TEXT, "spaceAfter": 7,
                    "splitLongWords": 1, "allowWidows": 0, "allowOrphans": 0, **looks}
            told["textColor"] = HexColor(told["textColor"])
            self.styles[key] = ParagraphStyle(name, **told)
        return self.styles[key]

    def paragraph(self, runs, name, is_bold=False, bullet=None, **looks):
        from reportlab.platypus import Paragraph

        text = plain([run for run in runs if isinstance(run, Run)])
        # Lines of Chinese break between any two characters.
        chinese = sum(1 for letter in text if letter >= "\u2e80")
        if chinese * 4 > len(text):
            looks["wordWrap"] = "CJK"
        style = self.style(name, **looks)
        markup = "".join(self.markup(run, style.fontSize, is_bold) for run in runs)
        return Paragraph(markup or " ", style, bulletText=bullet)

    def markup(self, run, size, is_bold):
        if not isinstance(run, Run):
            run = Run(f"[{run.text or run.name}]", italic=True)
        bold = run.bold or is_bold
        told = []
        for text, font in self.fonts.parts(run.text):
            name = font or (_CODE if run.code else _STANDARD[bold, run.italic])
            letters = escape(text).replace("\n", "<br/>")
            # The only font with Chinese characters is not bold.
            color = f' color="{_ACCENT}"' if font and run.bold else ""
            told.append(f'<font name="{name}"{color}>{letters}</font>')
        marked = "".join(told)
        if run.strike:
            marked = f"<strike>{marked}</strike>"
        if run.note:
            marked = f'<super size="{size * 0.7:.1f}">{marked}</super>'
        if run.link:
            marked = f'<a href={quoteattr(run.link[:2000])} color="#0B62C4">{marked}</a>'
        return marked

    def add(self, *flowables):
        self.story += flowables

    def write_title(self, title):
        self.add(self.paragraph([Run(title)], "title", True, fontSize=25, leading=31, textColor=_ACCENT,
                                spaceAfter=16))

    def write_heading(self, block):
        level = min(block.level, 6)
        size = _SIZES[level]
        paragraph = self.paragraph(block.runs, f"heading{level}", True, fontSize=size, leading=size * 1.3,
                                   textColor=_ACCENT, spaceBefore=size * 0.75, spaceAfter=size * 0.42, keepWithNext=1)
        self.anchors += 1
        self.add(self.Bookmark(f"part{self.anchors}", plain(block.runs)[:200], min(level - 1, 2)), paragraph)

    def write_text(self, block):
        indent = 18 * block.level + 16 * block.quote
        self.add(self.paragraph(block.runs, "text", leftIndent=indent,
                                textColor=_SOFT_TEXT if block.quote else _TEXT))

    def write_item(self, block):
        level = block.level
        mark = f"{block.number}." if block.number is not None else _BULLETS[min(level, 2)]
        font = "Helvetica" if block.number is not None else self.fonts.font_of(mark) or "Helvetica"
        indent = 18 * (level + 1) + 16 * block.quote
        self.add(self.paragraph(block.runs, "item", bullet=mark, leftIndent=indent, bulletIndent=indent - 15,
                                   bulletFontName=font, bulletFontSize=10.5, spaceAfter=3.5))

    def write_code(self, block):
        from reportlab.lib.colors import HexColor
        from reportlab.platypus import XPreformatted

        size = 8.7
        most = int((_ROOM_WIDE - 16 - 18 * block.level) / (size * 0.6))
        lines = [part for line in block.text.expandtabs(4).split("\n") for part in _wrapped(line, most)]
        style = self.style("code", fontName=_CODE, fontSize=size, leading=12, leftIndent=18 * block.level + 7, rightIndent=7,
                           spaceBefore=8, spaceAfter=14)
        style.backColor, style.borderPadding = HexColor(_SOFT), 6
        for at in range(0, len(lines), 48):
            text = "\n".join(self.markup(Run(line, code=True), size, False) for line in lines[at:at + 48])
            self.add(XPreformatted(text, style))

    def write_rule(self, _):
        from reportlab.lib.colors import HexColor
        from reportlab.platypus import HRFlowable

        self.add(HRFlowable("100%", 0.7, color=HexColor(_LINES), spaceBefore=6, spaceAfter=10))

    def write_notes(self, notes):
        self.write_rule(None)
        self.add(self.paragraph([Run(words(self.task.language, "notes"))], "notes", True, fontSize=10, spaceAfter=4))
        for number, runs in enumerate(notes, 1):
            self.add(self.paragraph([Run(f"{number}. "), *runs], "note", fontSize=9, leading=12.5, spaceAfter=2,
                                    leftIndent=14, firstLineIndent=-14))

    # Other blocks

    def write_picture(self, block):
        from reportlab.platypus import Image

        picture = self.task.picture(block.name)
        if picture is None:
            self.add(self.paragraph([Run(f"[{block.text or block.name}]", italic=True)], "text",
                                    textColor=_SOFT_TEXT))
            return
        scale = min(_ROOM_WIDE / picture.width, _ROOM_HIGH * 0.6 / picture.height, 0.66)
        image = Image(io.BytesIO(picture.content), picture.width * scale, picture.height * scale, lazy=0)
        image.spaceBefore, image.spaceAfter = 6, 5 if block.text else 12
        image.keepWithNext = bool(block.text)
        self.add(image)
        if block.text:
            self.add(self.paragraph([Run(block.text[:500], italic=True)], "caption", fontSize=9, leading=12,
                                    alignment=1, textColor=_SOFT_TEXT, spaceAfter=12))

    def write_table(self, block):
        from reportlab.lib.colors import HexColor
        from reportlab.platypus import LongTable, TableStyle

        columns = len(block.rows[0])
        size = 9.5 if columns <= 6 else 8 if columns <= 10 else 6.5
        # Columns that do not fit on a page are removed.
        most = int(_ROOM_WIDE // 22)
        if columns > most:
            self.task.note("cut")
            block.rows, block.aligns = [row[:most] for row in block.rows], block.aligns[:most]
        sides = {"left": 0, "center": 1, "right": 2}
        rows = [[self.paragraph(_cut(runs), "cell", number == 0, fontSize=size, leading=size * 1.32, spaceAfter=0,
                                alignment=sides.get(align, 0), textColor=_ACCENT if number == 0 else _TEXT)
                 for runs, align in zip(row, block.aligns)] for number, row in enumerate(block.rows)]
        table = LongTable(rows, column_widths(block, _ROOM_WIDE), repeatRows=1)
        table.setStyle(TableStyle([
            ("GRID", (0, 0), (-1, -1), 0.5, HexColor(_LINES)), ("VALIGN", (0, 0), (-1, -1), "TOP"),
            ("ROWBACKGROUNDS", (0, 1), (-1, -1), [HexColor("#FFFFFF"), HexColor(_SOFT)]),
            ("BACKGROUND", (0, 0), (-1, 0), HexColor(_HEAD)), ("LEFTPADDING", (0, 0), (-1, -1), 5),
            ("RIGHTPADDING", (0, 0), (-1, -1), 5), ("TOPPADDING", (0, 0), (-1, -1), 3.5),
            ("BOTTOMPADDING", (0, 0), (-1, -1), 4),
        ]))
        table.spaceBefore, table.spaceAfter = 5, 13
        self.add(table)


def _cut(runs):
    """Returns runs of at most the maximum characters of a cell."""
    kept, room = [], _MAX_CELL
    for run in runs:
        if isinstance(run, Run) and room > 0:
            text = run.text if len(run.text) <= room else run.text[:room] + "…"
            room -= len(run.text)
            kept.append(Run(**{**vars(run), "text": text}))
        elif not isinstance(run, Run):
            kept.append(run)
    return kept


def _wrapped(line, most):
    """Splits a line of code; a Chinese character is as wide as two letters."""
    parts, part, width = [], [], 0
    for letter in line:
        wide = 2 if letter >= "\u2e80" else 1
        if width + wide > most:
            parts.append("".join(part))
            part, width = [], 0
        part.append(letter)
        width += wide
    return [*parts, "".join(part)]


def _bookmark_class():
    from reportlab.platypus.flowables import Flowable

    class Bookmark(Flowable):
        """An entry of the outline, without height."""

        def __init__(self, key, title, level):
            super().__init__()
            self.key, self.title, self.level = key, title, level
            self.keepWithNext = 1

        def wrap(self, *_):
            return 0, 0

        def draw(self):
            canvas = self.canv
            canvas.bookmarkHorizontal(self.key, 0, 30)
            level = min(self.level, getattr(canvas, "djinn_level", -1) + 1)
            canvas.djinn_level = level
            canvas.addOutlineEntry(self.title, self.key, level, closed=level > 0)

    return Bookmark
