"""PDF documents."""

import io
from xml.sax.saxutils import escape, quoteattr

from reportlab import rl_config
from reportlab.lib.colors import HexColor
from reportlab.lib.styles import ParagraphStyle
from reportlab.platypus import (BaseDocTemplate, CondPageBreak, Frame, HRFlowable, Image, LongTable,
                                PageTemplate, Paragraph, TableStyle, XPreformatted)
from reportlab.platypus.tableofcontents import TableOfContents

import house
from chart import draw_chart
from drawing import shortened
from markdown import Run, plain
from pdf_fonts import Fonts
from pdf_parts import Bookmark, DrawnFlowable, Quotation
from pictures import shown_size
from tables import column_widths
from words import words

# Points: A4.
_WIDTH, _HEIGHT = 595.28, 841.89
_MARGIN, _TOP, _BOTTOM = 62, 66, 66
_ROOM_WIDE = _WIDTH - 2 * _MARGIN
_ROOM_HIGH = _HEIGHT - _TOP - _BOTTOM - 12
# Maximum characters of a cell; a row higher than a page fits on no page.
_MAX_CELL = 900
# The numbers of headings with which a document has contents.
_WITH_CONTENTS = range(8, 151)
_SIZES = {1: 20, 2: 15, 3: 12.5, 4: 11, 5: 10.5, 6: 10.5}
_BULLETS = "•–▪"


def render_pdf(task, blocks, notes):
    """Returns the bytes of a document."""
    rl_config.invariant = 1
    writer = _Writer(task)
    first = blocks[0]
    if first.kind == "heading" and first.level == 1:
        writer.write_title(plain(first.runs), blocks.pop(0).runs)
    elif task.title:
        writer.write_title(task.title, [Run(task.title)])
    headings = [block for block in blocks if block.kind == "heading" and block.level <= 2]
    if len(headings) in _WITH_CONTENTS:
        writer.write_contents()
    for block in blocks:
        getattr(writer, f"write_{block.kind}")(block)
    if notes:
        writer.write_notes(notes)
    written = io.BytesIO()
    document = BaseDocTemplate(written, pagesize=(_WIDTH, _HEIGHT), title=task.title, author="", subject="",
                               creator="", invariant=1, lang="zh-CN" if task.language == "zh" else "en-US")
    frame = Frame(_MARGIN, _BOTTOM, _ROOM_WIDE, _HEIGHT - _TOP - _BOTTOM, 0, 0, 0, 0)
    document.addPageTemplates(PageTemplate("page", [frame], onPage=writer.draw_edges))
    document.afterFlowable = lambda flowable: _note_heading(document, flowable)
    (document.multiBuild if writer.contents else document.build)(writer.story)
    return written.getvalue()


def _note_heading(document, flowable):
    if isinstance(flowable, Bookmark) and flowable.is_listed and flowable.level < 2:
        document.notify("TOCEntry", (flowable.level, escape(flowable.title), document.page, flowable.key))


def _color(name):
    return HexColor(f"#{name}")


class _Writer:
    """Writes blocks in order into `story`."""

    def __init__(self, task):
        self.task, self.story, self.fonts = task, [], Fonts(task.fonts)
        self.styles, self.count, self.contents = {}, 0, None
        self.figures = self.tables = 0

    def draw_edges(self, canvas, document):
        """Draws the running title, from the second page on, and the number of the page."""
        canvas.saveState()
        if document.page > 1 and self.task.title:
            self.draw_line(canvas, _MARGIN, _HEIGHT - 40, self.task.title, _ROOM_WIDE)
            canvas.setStrokeColor(f"#{house.LINES}")
            canvas.setLineWidth(0.5)
            canvas.line(_MARGIN, _HEIGHT - 47, _WIDTH - _MARGIN, _HEIGHT - 47)
        number = f"{document.page}"
        self.draw_line(canvas, _WIDTH - _MARGIN - 5 * len(number), 36, number, 60)
        canvas.restoreState()

    def draw_line(self, canvas, x, y, text, width):
        canvas.setFillColor(f"#{house.SOFT_INK}")
        for part, font in self.fonts.parts(shortened(text, width, 8.5), False, house.SOFT_INK):
            canvas.setFont(font, 8.5)
            canvas.drawString(x, y, part)
            x += canvas.stringWidth(part, font, 8.5)

    # Text

    def style(self, name, **looks):
        key = (name, *sorted(looks.items()))
        if key not in self.styles:
            told = {"fontName": self.fonts.first, "fontSize": 10.5, "leading": 16, "textColor": house.INK,
                    "spaceAfter": 7, "splitLongWords": 1, "allowWidows": 0, "allowOrphans": 0, **looks}
            told["color"] = told["textColor"]
            told["textColor"] = _color(told["textColor"])
            self.styles[key] = ParagraphStyle(name, **told)
        return self.styles[key]

    def paragraph(self, runs, name, is_bold=False, bullet=None, kind=Paragraph, **looks):
        text = plain([run for run in runs if isinstance(run, Run)])
        # Lines of Chinese break between any two characters.
        chinese = sum(1 for letter in text if letter >= "\u2e80")
        if chinese * 4 > len(text):
            looks["wordWrap"] = "CJK"
        style = self.style(name, **looks)
        markup = "".join(self.markup(run, style, is_bold) for run in runs)
        return kind(markup or " ", style, bulletText=bullet)

    def markup(self, run, style, is_bold=False):
        if isinstance(run, _Anchor):
            return f'<a name="{run.name}"/>' if run.name else ""
        if not isinstance(run, Run):
            run = Run(f"[{run.text or run.name}]", italic=True)
        color = house.LINK if run.link else style.color
        told = []
        for text, font in self.fonts.parts(run.text, run.bold or is_bold, color, run.italic, run.code,
                                            style.fontSize):
            letters = escape(text).replace("\n", "<br/>")
            told.append(f'<font name="{font}" color="#{color}">{letters}</font>')
        marked = "".join(told)
        if run.strike:
            marked = f"<strike>{marked}</strike>"
        if run.script:
            tag, rise = ("super", 0.36) if run.script == "sup" else ("sub", 0.16)
            size = style.fontSize
            marked = f'<{tag} rise="{size * rise:.1f}" size="{size * 0.7:.1f}">{marked}</{tag}>'
        if run.link:
            marked = f'<a href={quoteattr(run.link[:2000])}>{marked}</a>'
        return marked

    def add(self, *flowables):
        self.story += flowables

    def write_title(self, title, runs):
        self.add(Bookmark("title", title[:200], 0, False),
                 self.paragraph(runs, "title", True, fontSize=24, leading=31, textColor=house.DARK, spaceAfter=9),
                 HRFlowable(54, 3.5, color=_color(house.SECOND), hAlign="LEFT", spaceAfter=16))

    def write_contents(self):
        self.contents = TableOfContents(dotsMinLevel=0)
        self.contents.levelStyles = [self.style(f"contents{level}", leftIndent=16 * level, leading=17, spaceAfter=0,
                                                wordWrap="CJK") for level in range(2)]
        head = words(self.task.language, "contents")
        self.add(self.paragraph([Run(head)], "heading2", True, fontSize=13, leading=20, textColor=house.ACCENT),
                 self.contents)

    def write_heading(self, block):
        level = min(block.level, 6)
        size = _SIZES[level]
        paragraph = self.paragraph(block.runs, f"heading{level}", True, fontSize=size, leading=size * 1.32,
                                   textColor=house.ACCENT if level < 3 else house.INK, spaceBefore=size * 0.95,
                                   spaceAfter=size * 0.4)
        paragraph.is_heading = paragraph.keepWithNext = True
        self.count += 1
        self.add(Bookmark(f"part{self.count}", plain(block.runs)[:200], min(level - 1, 2)), paragraph)

    def write_text(self, block):
        indent = 18 * block.level + 16 * block.quote
        self.add(self.paragraph([_Anchor(block.anchor), *block.runs], "text", kind=Quotation if block.quote else Paragraph,
                                leftIndent=indent, textColor=house.SOFT_INK if block.quote else house.INK))

    def write_item(self, block):
        level = block.level
        mark = block.name or (f"{block.number}." if block.number is not None else _BULLETS[min(level, 2)])
        indent = 18 * (level + 1) + 16 * block.quote
        _, font = next(iter(self.fonts.parts(mark, False, house.ACCENT)))
        self.add(self.paragraph([_Anchor(block.anchor), *block.runs], "item", bullet=mark, leftIndent=indent, bulletIndent=indent - 16,
                                bulletFontName=font, bulletFontSize=10.5, bulletColor=_color(house.ACCENT),
                                spaceAfter=3.5))

    def write_code(self, block):
        size = 8.7
        most = int((_ROOM_WIDE - 16 - 18 * block.level) / (size * 0.61))
        lines = [part for line in block.text.expandtabs(4).split("\n") for part in _wrapped(line, most)]
        style = self.style("code", fontSize=size, leading=12.5, leftIndent=18 * block.level + 7, rightIndent=7,
                           spaceBefore=8, spaceAfter=14)
        style.backColor, style.borderPadding = _color(house.SOFT), 6
        for at in range(0, len(lines), 48):
            text = "\n".join(self.markup(Run(line, code=True), style) for line in lines[at:at + 48])
            self.add(XPreformatted(text, style))

    def write_rule(self, _):
        self.add(HRFlowable("100%", 0.7, color=_color(house.LINES), spaceBefore=6, spaceAfter=10))

    def write_notes(self, notes):
        self.write_rule(None)
        self.story[-1].keepWithNext = 1
        self.add(self.paragraph([Run(words(self.task.language, "notes"))], "notes", True, fontSize=10, spaceAfter=4,
                                keepWithNext=1))
        for number, runs in enumerate(notes, 1):
            self.add(self.paragraph([_Anchor(f"note-{number}"), Run(f"{number}. "), *runs], "note", fontSize=9,
                                    leading=13, spaceAfter=2, leftIndent=14, firstLineIndent=-14))

    # Other blocks

    def add_figure(self, flowable, caption):
        """Adds a picture or drawing with its numbered caption, if it has words."""
        flowable.hAlign, flowable.spaceBefore, flowable.spaceAfter = "CENTER", 6, 5
        height = flowable.wrap(_ROOM_WIDE, _ROOM_HIGH)[1]
        parts = [flowable]
        if caption:
            self.figures += 1
            told = f"{words(self.task.language, 'figure')} {self.figures}"
            parts.append(self.paragraph([Run(f"{told}  ", bold=True), Run(caption[:500])], "caption", fontSize=9,
                                        leading=12.5, alignment=1, textColor=house.SOFT_INK, spaceAfter=13))
        self.add_with_heading(height + 40, *parts)

    def write_picture(self, block):
        picture = self.task.picture(block.name)
        if picture is None:
            self.add(self.paragraph([Run(f"[{block.text or block.name}]", italic=True)], "text",
                                    textColor=house.SOFT_INK))
            return
        size = shown_size(picture, _ROOM_WIDE, _ROOM_HIGH * 0.45)
        self.add_figure(Image(io.BytesIO(picture.content), *size, lazy=0), block.text)

    def write_chart(self, block):
        chart = block.chart
        title, chart.title = chart.title, ""
        drawing = draw_chart(chart, 640)
        chart.title = title
        self.add_figure(DrawnFlowable(drawing, self.fonts, _ROOM_WIDE / 640), title)

    def write_formula(self, block):
        drawing = DrawnFlowable(block.drawing, self.fonts, min(1, _ROOM_WIDE / block.drawing.width))
        drawing.hAlign, drawing.spaceBefore, drawing.spaceAfter = "CENTER", 8, 12
        self.add(drawing)

    def write_table(self, block):
        columns = len(block.rows[0])
        # Columns that do not fit on a page are removed.
        most = int(_ROOM_WIDE // 22)
        if columns > most:
            self.task.note("cut")
            block.rows, block.aligns = [row[:most] for row in block.rows], block.aligns[:most]
        size, widths = column_widths(block, _ROOM_WIDE, (9.5, 8.5, 7.5, 6.5, 5.5), self.fonts.width, 13)
        sides = {"left": 0, "center": 1, "right": 2}
        rows = [[self.paragraph(_cut(runs), "cell", number == 0, fontSize=size, leading=size * 1.36, spaceAfter=0,
                                alignment=sides.get(align, 0), textColor=house.DARK if number == 0 else house.INK)
                 for runs, align in zip(row, block.aligns)] for number, row in enumerate(block.rows)]
        table = LongTable(rows, widths, repeatRows=1)
        table.setStyle(TableStyle([
            ("LINEBELOW", (0, 0), (-1, -1), 0.5, _color(house.LINES)), ("VALIGN", (0, 0), (-1, -1), "TOP"),
            ("LINEBELOW", (0, 0), (-1, 0), 1.2, _color(house.ACCENT)), ("VALIGN", (0, 0), (-1, 0), "BOTTOM"),
            ("BACKGROUND", (0, 0), (-1, 0), _color(house.HEAD)), ("LEFTPADDING", (0, 0), (-1, -1), 6),
            ("RIGHTPADDING", (0, 0), (-1, -1), 6), ("TOPPADDING", (0, 0), (-1, -1), 4),
            ("BOTTOMPADDING", (0, 0), (-1, -1), 5),
        ]))
        table.spaceBefore, table.spaceAfter = 5, 14
        self.add_with_heading(78 if len(rows) > 2 else 52, table)

    def add_with_heading(self, height, *flowables):
        """Adds flowables whose first `height` points stay on one page with the headings before them.

        The library would move a long table with its heading to the next page, and would part a figure from it.
        """
        start = len(self.story)
        while start and getattr(self.story[start - 1], "is_heading", False):
            start -= 1
        for heading in self.story[start:]:
            heading.keepWithNext = 0
            height += heading.wrap(_ROOM_WIDE, _ROOM_HIGH)[1] + heading.getSpaceBefore() + heading.getSpaceAfter()
        self.story.insert(start, CondPageBreak(min(height, _ROOM_HIGH)))
        self.add(*flowables)


class _Anchor(Run):
    """A place for links, as a run without letters."""

    def __init__(self, name):
        super().__init__("")
        self.name = name


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
