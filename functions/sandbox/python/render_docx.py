"""Word documents."""

import io

from markdown import MAX_LEVEL
from render import set_properties, zip_anew
from words import words

_ACCENT, _HEAD, _SOFT, _LINES = "1F4E79", "DCE6F1", "F3F5F7", "BFC7D1"
_LATIN, _CHINESE, _CODE = "Calibri", "Microsoft YaHei", "Consolas"
_SIZES = {"Title": 26, "Heading 1": 20, "Heading 2": 16, "Heading 3": 13.5, "Heading 4": 12, "Heading 5": 11,
          "Heading 6": 11}
_BULLETS = "•◦▪"
_AFTER_SHADE = ("w:tabs", "w:spacing", "w:ind", "w:contextualSpacing", "w:jc", "w:outlineLvl", "w:rPr")


def render_docx(task, blocks, notes):
    """Returns the bytes of a document."""
    import docx

    document = docx.Document()
    writer = _Writer(document, task)
    _set_page(document)
    _set_styles(document)
    set_properties(document.core_properties, task)
    first = blocks[0]
    if task.title and not (first.kind == "heading" and first.level == 1):
        document.add_paragraph(task.title, "Title")
    for block in blocks:
        writer.write(block)
    if notes:
        writer.write_notes(notes)
    written = io.BytesIO()
    document.save(written)
    return zip_anew(written.getvalue())


def _set_page(document):
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.shared import Cm

    section = document.sections[0]
    section.page_width, section.page_height = Cm(21), Cm(29.7)
    section.left_margin = section.right_margin = Cm(2.5)
    section.top_margin, section.bottom_margin = Cm(2.4), Cm(2.2)
    footer = section.footer.paragraphs[0]
    footer.alignment = WD_ALIGN_PARAGRAPH.CENTER
    run = footer.add_run()
    for kind in ("begin", "separate", "end"):
        run._r.append(_element("w:fldChar", {"w:fldCharType": kind}))
        if kind == "begin":
            run._r.append(_element("w:instrText", {"xml:space": "preserve"}, " PAGE "))
        elif kind == "separate":
            run._r.append(_element("w:t", {}, "1"))


def _set_styles(document):
    from docx.enum.style import WD_STYLE_TYPE
    from docx.shared import Pt, RGBColor

    styles = document.styles
    body = styles["Normal"]
    body.font.name, body.font.size = _LATIN, Pt(11)
    body.paragraph_format.space_after, body.paragraph_format.line_spacing = Pt(7), 1.2
    for name, size in _SIZES.items():
        style = styles[name]
        style.font.name, style.font.size, style.font.bold = _LATIN, Pt(size), True
        style.font.italic = False
        style.font.color.rgb = RGBColor.from_string(_ACCENT)
        style.paragraph_format.space_before = Pt(0 if name == "Title" else 16 if size > 14 else 12)
        style.paragraph_format.space_after = Pt(12 if name == "Title" else 6)
        for border in style.element.pPr.findall(_name("w:pBdr")):
            style.element.pPr.remove(border)
    for name in ("Normal", *_SIZES):
        _set_fonts(styles[name].element.get_or_add_rPr(), _LATIN)
    for name in ("List Bullet", "List Number"):
        for level in ("", " 2", " 3"):
            styles[name + level].paragraph_format.space_after = Pt(3)
    code = styles.add_style("Code", WD_STYLE_TYPE.PARAGRAPH)
    code.base_style = body
    code.font.name, code.font.size = _CODE, Pt(9.5)
    _set_fonts(code.element.get_or_add_rPr(), _CODE)
    code.paragraph_format.line_spacing, code.paragraph_format.space_after = 1.1, Pt(9)
    quote = styles["Quote"]
    quote.font.italic = False
    quote.font.color.rgb = RGBColor(0x55, 0x5F, 0x6B)


def _set_fonts(properties, latin):
    fonts = properties.get_or_add_rFonts()
    for theme in [key for key in fonts.attrib if key.endswith("Theme")]:
        del fonts.attrib[theme]
    for use in ("ascii", "hAnsi", "cs"):
        fonts.set(_name(f"w:{use}"), latin)
    fonts.set(_name("w:eastAsia"), _CHINESE)


def _name(name):
    from docx.oxml.ns import qn

    return qn(name)


def _element(name, attributes, text=None):
    from docx.oxml import OxmlElement

    element = OxmlElement(name)
    for key, value in attributes.items():
        element.set("{http://www.w3.org/XML/1998/namespace}space" if key == "xml:space" else _name(key), value)
    if text is not None:
        element.text = text
    return element


def _insert_form(paragraph, element):
    """Inserts borders and shades before these elements; Word requires this order."""
    paragraph._p.get_or_add_pPr().insert_element_before(element, *_AFTER_SHADE)


class _Writer:
    """Writes blocks in order."""

    def __init__(self, document, task):
        self.document, self.task = document, task
        self.section = document.sections[0]
        self.numberings = _Numberings(document)
        # Lookups that the library would repeat in each paragraph, and for each link.
        self.body, self.styles, self.links = document._body, {}, {}

    def add_paragraph(self, style="Normal"):
        """Appends a new paragraph."""
        if style not in self.styles:
            self.styles[style] = self.document.styles[style].style_id
        paragraph = self.body.add_paragraph()
        if style != "Normal":
            paragraph._p.style = self.styles[style]
        return paragraph

    def write(self, block):
        getattr(self, f"write_{block.kind}")(block)

    def write_heading(self, block):
        paragraph = self.add_paragraph(f"Heading {min(block.level, 6)}")
        self.add_runs(paragraph, block.runs)

    def write_text(self, block):
        paragraph = self.add_paragraph("Quote" if block.quote else "Normal")
        self.place(paragraph, block)
        self.add_runs(paragraph, block.runs)

    def write_item(self, block):
        counted = block.number is not None
        name = "List Number" if counted else "List Bullet"
        level = min(block.level, 2)
        paragraph = self.add_paragraph(f"{name} {level + 1}" if level else name)
        self.numberings.number(paragraph, block)
        self.add_runs(paragraph, block.runs)

    def write_code(self, block):
        paragraph = self.add_paragraph("Code")
        self.place(paragraph, block)
        _insert_form(paragraph, _element("w:shd", {"w:val": "clear", "w:color": "auto", "w:fill": _SOFT}))
        paragraph.add_run(block.text)

    def write_rule(self, _):
        paragraph = self.add_paragraph()
        borders = _element("w:pBdr", {})
        borders.append(_element("w:bottom", {"w:val": "single", "w:sz": "6", "w:space": "1", "w:color": _LINES}))
        _insert_form(paragraph, borders)

    def write_picture(self, block):
        from docx.enum.text import WD_ALIGN_PARAGRAPH
        from docx.shared import Pt

        picture = self.task.picture(block.name)
        paragraph = self.add_paragraph()
        if picture is None or picture.format == "WEBP":
            if picture is not None:
                self.task.tell_missing(block.name)
            paragraph.add_run(f"[{block.text or block.name}]").italic = True
            return
        paragraph.alignment = WD_ALIGN_PARAGRAPH.CENTER
        most_wide, most_high = self.room()
        # The size on a screen, limited by the page.
        scale = min(most_wide / picture.width, most_high / picture.height, 914400 / 110)
        shape = paragraph.add_run().add_picture(io.BytesIO(picture.content), int(picture.width * scale),
                                                int(picture.height * scale))
        shape._inline.docPr.set("descr", block.text[:500])
        if block.text:
            paragraph.paragraph_format.keep_with_next = True
            caption = self.add_paragraph()
            caption.alignment = WD_ALIGN_PARAGRAPH.CENTER
            run = caption.add_run(block.text)
            run.italic, run.font.size = True, Pt(9.5)

    def room(self):
        """Returns the maximum width and height of an image."""
        section = self.section
        return (section.page_width - section.left_margin - section.right_margin,
                (section.page_height - section.top_margin - section.bottom_margin) * 0.6)

    def place(self, paragraph, block):
        from docx.shared import Cm

        if block.level or block.quote:
            paragraph.paragraph_format.left_indent = Cm(0.75 * min(block.level + block.quote, MAX_LEVEL))

    def write_notes(self, notes):
        from docx.shared import Pt

        self.write_rule(None)
        heading = self.add_paragraph().add_run(words(self.task.language, "notes"))
        heading.bold = True
        for number, runs in enumerate(notes, 1):
            paragraph = self.add_paragraph()
            paragraph.paragraph_format.space_after = Pt(2)
            paragraph.add_run(f"{number}. ")
            self.add_runs(paragraph, runs)
            for run in paragraph.runs:
                run.font.size = Pt(9.5)

    def write_table(self, block):
        """Writes a table as XML, because the library takes quadratic time in the number of cells."""
        widths = column_widths(block, self.room()[0])
        table = _element("w:tbl", {})
        table.append(self.table_properties(block))
        grid = _element("w:tblGrid", {})
        for width in widths:
            grid.append(_element("w:gridCol", {"w:w": f"{int(width / 635)}"}))
        table.append(grid)
        for number, row in enumerate(block.rows):
            table.append(self.table_row(row, widths, block.aligns, number))
        self.document.element.body._insert_tbl(table)
        spacer = self.add_paragraph()
        spacer.paragraph_format.space_after = 0
        spacer.paragraph_format.line_spacing = 0.7

    def table_properties(self, block):
        properties = _element("w:tblPr", {})
        properties.append(_element("w:tblW", {"w:w": "0", "w:type": "auto"}))
        indent = int(0.75 * 567 * min(block.level + block.quote, MAX_LEVEL))
        properties.append(_element("w:tblInd", {"w:w": f"{indent}", "w:type": "dxa"}))
        borders = _element("w:tblBorders", {})
        for side in ("top", "left", "bottom", "right", "insideH", "insideV"):
            borders.append(_element(f"w:{side}", {"w:val": "single", "w:sz": "4", "w:space": "0",
                                                  "w:color": _LINES}))
        properties.append(borders)
        properties.append(_element("w:tblLayout", {"w:type": "fixed"}))
        margins = _element("w:tblCellMar", {})
        for side, width in (("top", 40), ("left", 90), ("bottom", 40), ("right", 90)):
            margins.append(_element(f"w:{side}", {"w:w": f"{width}", "w:type": "dxa"}))
        properties.append(margins)
        return properties

    def table_row(self, row, widths, aligns, number):
        from docx.shared import Pt
        from docx.text.paragraph import Paragraph

        element = _element("w:tr", {})
        properties = _element("w:trPr", {})
        properties.append(_element("w:cantSplit", {}))
        if number == 0:
            properties.append(_element("w:tblHeader", {}))
        element.append(properties)
        for width, runs, align in zip(widths, row, aligns):
            cell = _element("w:tc", {})
            look = _element("w:tcPr", {})
            look.append(_element("w:tcW", {"w:w": f"{int(width / 635)}", "w:type": "dxa"}))
            fill = _HEAD if number == 0 else _SOFT if number % 2 == 0 else None
            if fill:
                look.append(_element("w:shd", {"w:val": "clear", "w:color": "auto", "w:fill": fill}))
            cell.append(look)
            paragraph = _element("w:p", {})
            form = _element("w:pPr", {})
            form.append(_element("w:spacing", {"w:after": "0", "w:line": "252", "w:lineRule": "auto"}))
            if align in ("center", "right"):
                form.append(_element("w:jc", {"w:val": align}))
            paragraph.append(form)
            cell.append(paragraph)
            element.append(cell)
            self.add_runs(Paragraph(paragraph, self.document._body), runs, is_bold=number == 0, size=Pt(10))
        return element

    def add_runs(self, paragraph, runs, is_bold=False, size=None):
        for run in runs:
            if run.text is None or not hasattr(run, "bold"):
                paragraph.add_run(f"[{run.text or run.name}]")
                continue
            written = self.add_link(paragraph, run) if run.link else paragraph.add_run(run.text)
            if run.bold or is_bold:
                written.bold = True
            if run.italic:
                written.italic = True
            if run.strike:
                written.font.strike = True
            if run.note:
                written.font.superscript = True
            if run.code:
                _set_fonts(written._r.get_or_add_rPr(), _CODE)
            if size is not None:
                written.font.size = size

    def add_link(self, paragraph, run):
        from docx.opc.constants import RELATIONSHIP_TYPE
        from docx.shared import RGBColor
        from docx.text.run import Run

        address = run.link[:2000]
        if address not in self.links:
            rels = self.document.part.rels
            self.links[address] = rels._next_rId
            rels.add_relationship(RELATIONSHIP_TYPE.HYPERLINK, address, self.links[address], is_external=True)
        link = _element("w:hyperlink", {"r:id": self.links[address]})
        element = _element("w:r", {})
        link.append(element)
        paragraph._p.append(link)
        written = Run(element, paragraph)
        written.text = run.text
        written.font.color.rgb, written.font.underline = RGBColor(0x05, 0x63, 0xC1), True
        return written


class _Numberings:
    """Lists that each begin with their own number."""

    def __init__(self, document):
        self.element = document.part.numbering_part.element
        self.known = {}
        self.forms = {False: self._add_form(90, False), True: self._add_form(91, True)}

    def _add_form(self, number, counted):
        form = _element("w:abstractNum", {"w:abstractNumId": f"{number}"})
        form.append(_element("w:multiLevelType", {"w:val": "hybridMultilevel"}))
        for level in range(MAX_LEVEL + 1):
            element = _element("w:lvl", {"w:ilvl": f"{level}"})
            element.append(_element("w:start", {"w:val": "1"}))
            element.append(_element("w:numFmt", {"w:val": "decimal" if counted else "bullet"}))
            mark = f"%{level + 1}." if counted else _BULLETS[level % len(_BULLETS)]
            element.append(_element("w:lvlText", {"w:val": mark}))
            element.append(_element("w:lvlJc", {"w:val": "left"}))
            place = _element("w:pPr", {})
            place.append(_element("w:ind", {"w:left": f"{425 * (level + 1)}", "w:hanging": "425"}))
            element.append(place)
            form.append(element)
        # Abstract definitions come before the lists that use them.
        self.element.insert(0, form)
        return number

    def number(self, paragraph, block):
        """Makes a paragraph an item of its list."""
        if block.list_id not in self.known:
            self.known[block.list_id] = self._add_list(block)
        properties = paragraph._p.get_or_add_pPr()
        numbering = properties.get_or_add_numPr()
        numbering.get_or_add_ilvl().val = block.level
        numbering.get_or_add_numId().val = self.known[block.list_id]

    def _add_list(self, block):
        counted = block.number is not None
        identity = 1000 + len(self.known)
        element = _element("w:num", {"w:numId": f"{identity}"})
        element.append(_element("w:abstractNumId", {"w:val": f"{self.forms[counted]}"}))
        if counted:
            start = _element("w:lvlOverride", {"w:ilvl": f"{block.level}"})
            start.append(_element("w:startOverride", {"w:val": f"{block.number}"}))
            element.append(start)
        self.element._insert_num(element)
        return identity


def column_widths(block, total):
    """Returns the share of `total` for each column of a table, by the letters in the column."""
    from markdown import plain

    weights = []
    for column in range(len(block.rows[0])):
        cells = [plain(row[column]) for row in block.rows[:100] if column < len(row)]
        longest = max((text_width(cell) for cell in cells), default=1)
        weights.append(min(max(longest + 2, 7), 42))
    return [total * weight / sum(weights) for weight in weights]


def text_width(text):
    """Returns the approximate width of a text in Latin letters; the longest line counts."""
    lines = text.split("\n")
    return max(sum(1.9 if letter >= "\u2e80" else 1 for letter in line[:400]) for line in lines)
