"""Measurable faults of rendered documents."""

import re
import unicodedata
from functools import cache
from html.parser import HTMLParser

from PIL import ImageFont

# Points of a page of A4 between its header and its footer.
PAGE_TOP, PAGE_BOTTOM, PAGE_HIGH = 50, 792, 842
# The share of a page, or of a slide, that is filled at least, except on the first and the last.
MIN_FILL = 0.3
# Units of Office per point.
EMU, TWIPS = 12_700, 20
# The scripts that have a font of their own, without which their letters are boxes, or wide.
OWN_FONTS = {"Arabic", "Hebrew", "Thai", "Bengali"}
_NUMBER = re.compile(r"[^\w\s]?\d[\d.,:-]*\d")


@cache
def font_of(path, size=100):
    return ImageFont.truetype(path, size)


def width_of(text, size, font):
    """Returns the width of a text in points."""
    return font_of(font).getlength(text) * size / 100


def tokens_of(text):
    """Returns the numbers in the tables of a Markdown text."""
    cells = [cell.strip(" *") for line in text.split("\n") if line.startswith("|") for cell in line.strip("|").split("|")]
    return {cell for cell in cells if _NUMBER.fullmatch(cell)}


def faults_of_pdf(path, text, _font):
    import pypdfium2
    from pypdfium2 import raw

    document = pypdfium2.PdfDocument(path)
    written = ""
    for number, page in enumerate(document, 1):
        textpage = page.get_textpage()
        found = textpage.get_text_range()
        written += found + "\n"
        if "\ufffd" in found or "\u25a1" in found:
            yield f"page {number}: a missing letter"
        for piece in page.get_objects([raw.FPDF_PAGEOBJ_TEXT], textpage=textpage):
            left, _, right, _ = piece.get_bounds()
            if left < 0 or right > page.get_width() + 1:
                yield f"page {number}: text outside the page"
            font = piece.get_font()
            if not font.is_embedded:
                yield f"page {number}: a font that is not embedded"
            scripts = {unicodedata.name(letter, "").split(" ")[0].title() for letter in piece.extract() if letter.isalpha()}
            yield from (f"page {number}: {script} in {font.get_base_name()}" for script in scripts & OWN_FONTS
                        if script not in font.get_base_name())
        image = page.render(scale=0.5, grayscale=True).to_pil().convert("L")
        rows = [min(image.crop((0, row, image.width, row + 1)).tobytes()) for row in range(image.height)]
        inked = [row * 2 for row, darkest in enumerate(rows) if darkest < 240 and PAGE_TOP < row * 2 < PAGE_BOTTOM]
        fill = (max(inked, default=0) - PAGE_TOP) / (PAGE_BOTTOM - PAGE_TOP)
        if fill < MIN_FILL and 1 < number < len(document):
            yield f"page {number}: {fill:.0%} full"
    yield from (f"{token} is broken" for token in tokens_of(text) if token not in written)


def faults_of_pptx(path, _text, font):
    import pptx

    deck = pptx.Presentation(path)
    for number, slide in enumerate(deck.slides, 1):
        is_content = slide.slide_layout.name == "Statement"
        lowest, shown = 0, 0
        for shape in slide.shapes:
            left, top, width, height = (edge / EMU for edge in (shape.left, shape.top, shape.width, shape.height))
            if left < 0 or top < 0 or left + width > 961 or top + height > 541:
                yield f"slide {number}: {shape.name} is outside"
            if shape.has_text_frame and shape.text_frame.text.strip():
                needs = text_height(shape.text_frame, width, font)
                if needs > height * 1.12 + 6:
                    yield f"slide {number}: {shape.text_frame.text[:30]!r} needs {needs:.0f} of {height:.0f} points"
            if shape.has_table if hasattr(shape, "has_table") else False:
                yield from (f"slide {number}: {told}" for told in faults_of_cells(shape.table, font))
            if shape != slide.shapes.title and not (shape.has_text_frame and not shape.text_frame.text.strip()):
                shown += 1
                lowest = max(lowest, top + height)
        if is_content and not shown:
            yield f"slide {number}: empty"
        if is_content and lowest < 116 + MIN_FILL * 366 and number < len(deck.slides):
            yield f"slide {number}: filled down to {lowest:.0f} points"


def text_height(frame, width, font):
    """Returns the height that the paragraphs of a text box need, in points."""
    total = 0
    for paragraph in frame.paragraphs:
        size = max((run.font.size.pt for run in paragraph.runs if run.font.size), default=0)
        room = width - (paragraph._p.pPr is not None and int(paragraph._p.pPr.get("marL", 0)) or 0) / EMU
        text = "".join(run.text for run in paragraph.runs)
        # Calibri is narrower than the font for measuring.
        lines = -(-width_of(text, size * 0.92, font) // max(1, room)) if text else 1
        total += max(1, lines) * size * 1.2 + (paragraph.space_after.pt if paragraph.space_after else 0)
    return total


def faults_of_cells(table, font):
    for row in table.rows:
        for cell, column in zip(row.cells, table.columns):
            size = max((run.font.size.pt for one in cell.text_frame.paragraphs for run in one.runs), default=0)
            room = (column.width - cell.margin_left - cell.margin_right) / EMU
            for token in cell.text_frame.text.split():
                if _NUMBER.fullmatch(token) and width_of(token, size * 0.92, font) > room:
                    yield f"{token} is broken"


def faults_of_docx(path, _text, font):
    import docx
    from docx.oxml.ns import qn

    document = docx.Document(path)
    body = document.element.body
    marks = [mark.get(qn("w:name")) for mark in body.iter(qn("w:bookmarkStart"))]
    if len(marks) != len(set(marks)):
        yield "two bookmarks have one name"
    targets = {link.get(qn("w:anchor")) for link in body.iter(qn("w:hyperlink"))} - {None}
    yield from (f"a link to {target}, which does not exist" for target in targets - set(marks))
    known = {style.style_id for style in document.styles}
    used = {style.get(qn("w:val")) for style in body.iter(qn("w:pStyle"))}
    yield from (f"the style {style} does not exist" for style in used - known)
    for table in document.tables:
        grid = [int(column.get(qn("w:w"))) / TWIPS for column in table._tbl.tblGrid.iter(qn("w:gridCol"))]
        for row in table._tbl.tr_lst:
            for cell, width in zip(row.tc_lst, grid):
                size = max((int(one.get(qn("w:val"))) / 2 for one in cell.iter(qn("w:sz"))), default=10)
                for token in "".join(piece.text or "" for piece in cell.iter(qn("w:t"))).split():
                    if _NUMBER.fullmatch(token) and width_of(token, size * 0.92, font) > width - 9:
                        yield f"{token} is broken in a column of {width:.0f} points"


class _Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.links, self.scripts, self.charts = set(), set(), 0, 0

    def handle_starttag(self, name, pairs):
        values = dict(pairs)
        self.ids.add(values.get("id"))
        self.scripts += name == "script"
        # A formula has a width.
        self.charts += name == "svg" and values.get("role") == "img" and "width" not in values
        if values.get("href", "").startswith("#"):
            self.links.add(values["href"][1:])


def faults_of_html(path, text, _font):
    with open(path, encoding="utf-8") as file:
        content = file.read()
    page = _Page()
    page.feed(content)
    if page.scripts != path.endswith(".slides.html"):
        yield f"{page.scripts} scripts"
    yield from (f"a link to {target}, which does not exist" for target in page.links - page.ids)
    # A page has each chart for narrow screens too.
    charts = text.count("```chart") * (1 if path.endswith(".slides.html") else 2)
    if "hostile" not in path and page.charts != charts:
        yield f"{page.charts} of {charts} charts"


FAULTS = {"pdf": faults_of_pdf, "pptx": faults_of_pptx, "docx": faults_of_docx, "html": faults_of_html,
          "ppt": faults_of_html}
