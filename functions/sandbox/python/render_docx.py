"""Word documents."""

import io

import formula
import house
from markdown import MAX_LEVEL, Run, plain
from render import set_properties, zip_anew
from tables import column_widths
from words import words

_SIZES = {"Title": 26, "Heading 1": 18, "Heading 2": 14.5, "Heading 3": 12.5, "Heading 4": 11.5, "Heading 5": 11,
          "Heading 6": 11}
# The numbers of headings with which a document has contents.
_WITH_CONTENTS = range(8, 151)
# The size of a character of text in twips (1/20 point), which tables are measured in, and EMU per twip.
_TWIPS, _EMU, _CM = 20, 635, 360_000
# The margin at the sides of a cell, in twips.
_SIDE = 120
_BULLETS = "•◦▪"
# The styles of contents.
_CONTENTS = ("toc 1", "toc 2")
# The parts of a Word file that are not about its text, by the ends of their relationships.
_OF_ALL_TEXTS = ("/styles", "/numbering", "/settings", "/webSettings", "/fontTable", "/theme")
_AFTER_SHADE = ("w:tabs", "w:spacing", "w:ind", "w:contextualSpacing", "w:jc", "w:outlineLvl", "w:rPr")


def render_docx(task, blocks, notes):
    """Returns the bytes of a document."""
    import docx

    document = _open_master(docx, task) if house.DOCX else None
    if document is None:
        document = docx.Document()
        _renew(document)
        _set_page(document, task)
        _set_styles(document)
    writer = _Writer(document, task)
    set_properties(document.core_properties, task)
    first = blocks[0]
    if first.kind == "heading" and first.level == 1:
        writer.add_runs(writer.add_paragraph("Title"), blocks.pop(0).runs)
    elif task.title:
        document.add_paragraph(task.title, "Title")
    headings = [block for block in blocks if block.kind == "heading"]
    if len(headings) in _WITH_CONTENTS:
        writer.write_contents(headings)
    for block in blocks:
        writer.write(block)
    if notes:
        writer.write_notes(notes)
    written = io.BytesIO()
    document.save(written)
    return zip_anew(written.getvalue())


def _open_master(docx, task):
    """Returns the Word file of the deployment without its text, or None if it cannot be used."""
    try:
        document = docx.Document(house.DOCX)
        section, body = document.sections[-1], document.element.body
        if section.page_width - section.left_margin - section.right_margin < 8 * _CM:
            raise ValueError("its pages leave less than 8 cm between the margins")
        own = _own_styles(document.styles)
        if "Normal" not in own:
            raise ValueError("it has no style Normal")
        for element in list(body)[:-1]:
            body.remove(element)
        _drop_parts(document.part)
        _set_styles(document, own)
    except Exception as error:  # The library reports a broken file with many kinds of exceptions.
        task.note(f"theme: docx: {error}"[:300])
        return None
    return document


def _own_styles(styles):
    """Returns the names of a file's styles of paragraphs, and removes its other styles with names that ours need."""
    from docx.enum.style import WD_STYLE_TYPE
    from docx.styles import BabelFish

    own = set()
    for style in list(styles):
        if style.type == WD_STYLE_TYPE.PARAGRAPH:
            own.add(style.name)
            # The library finds a style of Office only by the name as Word writes it.
            style.element.name_val = BabelFish.ui2internal(style.name)
        elif style.name in (*_NEEDED, "Normal", "Code", *_CONTENTS):
            style.element.getparent().remove(style.element)
    return own


def _drop_parts(part):
    """Drops what only the removed text had: comments and their authors, notes, pictures, links."""
    used = set(part._element.xpath("//@r:*"))
    for key, rel in list(part.rels.items()):
        if key not in used and not rel.reltype.endswith(_OF_ALL_TEXTS):
            del part.rels[key]
    for key, rel in list(part.package.rels.items()):
        if rel.reltype.endswith(("/thumbnail", "/extended-properties")):
            del part.package.rels[key]
    for notes in part.settings.element.xpath("w:footnotePr | w:endnotePr"):
        notes.getparent().remove(notes)


def _renew(document):
    """Makes the library's file one of Word 2013 and later, which otherwise opens it in compatibility mode."""
    for setting in document.settings.element.iter(_name("w:compatSetting")):
        if setting.get(_name("w:name")) == "compatibilityMode":
            setting.set(_name("w:val"), "15")
    # A copy of the styles for Word 2010, which would contradict ours.
    for key, rel in list(document.part.rels.items()):
        if rel.reltype.endswith("/stylesWithEffects"):
            del document.part.rels[key]


def _set_page(document, task):
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.shared import Cm

    section = document.sections[0]
    section.page_width, section.page_height = Cm(21), Cm(29.7)
    section.left_margin = section.right_margin = Cm(2.5)
    section.top_margin, section.bottom_margin = Cm(2.4), Cm(2.2)
    # The first page has the title itself.
    section.different_first_page_header_footer = True
    header = section.header.paragraphs[0]
    header.text = task.title[:120]
    picture = task.logo()
    if picture is not None:
        logo = section.first_page_header.paragraphs[0]
        logo.alignment = WD_ALIGN_PARAGRAPH.RIGHT
        shape = logo.add_run().add_picture(io.BytesIO(picture.content), height=Cm(1))
        # Numbers of pictures are unique in all parts of a document.
        shape._inline.docPr.set("id", "100000")
    borders = _element("w:pBdr", {})
    borders.append(_element("w:bottom", {"w:val": "single", "w:sz": "4", "w:space": "4", "w:color": house.LINES}))
    _insert_form(header, borders)
    for footer in (section.footer, section.first_page_footer):
        paragraph = footer.paragraphs[0]
        paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
        if house.FOOTER:
            paragraph.add_run(f"{house.FOOTER}\u2003·\u2003")
        _add_field(paragraph, "PAGE", "1")


def _add_field(paragraph, instruction, shown, is_dirty=False, is_bold=None):
    """Adds a field that Word computes; until then, it shows a text."""
    begin = _element("w:fldChar", {"w:fldCharType": "begin"})
    if is_dirty:
        begin.set(_name("w:dirty"), "true")
    parts = [begin, _element("w:instrText", {"xml:space": "preserve"}, f" {instruction} "),
             _element("w:fldChar", {"w:fldCharType": "separate"})]
    if shown is not None:
        parts += [_element("w:t", {}, shown), _element("w:fldChar", {"w:fldCharType": "end"})]
    for part in parts:
        run = paragraph.add_run()
        run.bold = is_bold
        run._r.append(part)


# The styles of the library's file that a deployment's file may lack, each with the style below it.
_NEEDED = {**dict.fromkeys([*_SIZES, "Quote", "Caption", "List Paragraph", "Header", "Footer"], "Normal"),
           **{f"List {kind}{level}": "List Paragraph" for kind in ("Bullet", "Number") for level in ("", " 2", " 3")}}


def _set_styles(document, own=()):
    """Sets our styles, besides those that the file of a deployment has as its `own`."""
    from docx.enum.style import WD_STYLE_TYPE
    from docx.shared import Pt

    styles = document.styles
    for name, base in _NEEDED.items() if own else ():
        if name not in own:
            styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH, builtin=True).base_style = styles[base]
    if not own:
        _set_body(styles["Normal"])
    _set_headings([(styles[name], name, size) for name, size in _SIZES.items() if name not in own])
    for name in _NEEDED:
        if name.startswith(("List Bullet", "List Number")) and name not in own:
            styles[name].paragraph_format.space_after = Pt(3)
    _set_blocks(document, own)


def _set_body(body):
    from docx.shared import Pt, RGBColor

    body.font.name, body.font.size = house.LATIN, Pt(10.5)
    body.font.color.rgb = RGBColor.from_string(house.INK)
    body.paragraph_format.space_after, body.paragraph_format.line_spacing = Pt(7), 1.25
    language = body.element.get_or_add_rPr()
    language.append(_element("w:lang", {"w:val": "en-US", "w:eastAsia": "zh-CN"}))
    _set_fonts(language, house.LATIN)


def _set_headings(headings):
    from docx.shared import Pt, RGBColor

    for style, name, size in headings:
        style.font.name, style.font.size, style.font.bold = house.LATIN, Pt(size), True
        style.font.italic = False
        is_dark = name == "Title" or size < 14
        style.font.color.rgb = RGBColor.from_string(house.DARK if is_dark else house.ACCENT)
        style.paragraph_format.space_before = Pt(0 if name == "Title" else 18 if size > 14 else 12)
        style.paragraph_format.space_after = Pt(12 if name == "Title" else 6)
        properties = style.element.get_or_add_pPr()
        for border in properties.findall(_name("w:pBdr")):
            properties.remove(border)
        if name == "Title":
            borders = _element("w:pBdr", {})
            borders.append(_element("w:bottom", {"w:val": "single", "w:sz": "18", "w:space": "6",
                                                 "w:color": house.SECOND}))
            properties.insert_element_before(borders, *_AFTER_SHADE)
        elif properties.find(_name("w:outlineLvl")) is None:
            # The contents of Word are the paragraphs with a level.
            level = _element("w:outlineLvl", {"w:val": f"{int(name[-1]) - 1}"})
            properties.insert_element_before(level, "w:divId", "w:cnfStyle", "w:rPr", "w:sectPr", "w:pPrChange")
        _set_fonts(style.element.get_or_add_rPr(), house.LATIN)


def _set_blocks(document, own):
    """Sets the styles of code, quotes, captions, contents, headers and footers."""
    from docx.enum.style import WD_STYLE_TYPE
    from docx.enum.text import WD_TAB_ALIGNMENT, WD_TAB_LEADER
    from docx.shared import Pt, RGBColor

    styles = document.styles
    body = styles["Normal"]
    code = styles["Code"] if "Code" in own else styles.add_style("Code", WD_STYLE_TYPE.PARAGRAPH)
    code.base_style = body
    code.font.name, code.font.size = house.CODE, Pt(9.5)
    _set_fonts(code.element.get_or_add_rPr(), house.CODE)
    form = code.paragraph_format
    form.line_spacing, form.space_before, form.space_after = 1.1, Pt(9), Pt(12)
    form.left_indent = form.right_indent = Pt(6)
    quote, caption = styles["Quote"], styles["Caption"]
    if "Quote" not in own:
        quote.font.italic = False
        quote.paragraph_format.left_indent = Pt(12)
        borders = _element("w:pBdr", {})
        borders.append(_element("w:left", {"w:val": "single", "w:sz": "18", "w:space": "10", "w:color": house.SECOND}))
        quote.element.get_or_add_pPr().insert_element_before(borders, *_AFTER_SHADE)
    if "Caption" not in own:
        caption.font.bold = False
        caption.paragraph_format.space_after = Pt(12)
    for level, name in enumerate(_CONTENTS, 1):
        if name in own:
            continue
        contents = styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH)
        contents.base_style = body
        contents.paragraph_format.left_indent = Pt(14 * (level - 1))
        contents.paragraph_format.space_after = Pt(2)
        contents.paragraph_format.tab_stops.add_tab_stop(document.sections[0].page_width -
                                                         document.sections[0].left_margin * 2,
                                                         WD_TAB_ALIGNMENT.RIGHT, WD_TAB_LEADER.DOTS)
    for name, size in (("Quote", None), ("Caption", 9), ("Header", 8.5), ("Footer", 9)):
        if name not in own:
            styles[name].font.color.rgb = RGBColor.from_string(house.SOFT_INK)
            styles[name].font.size = Pt(size) if size else None


def _set_fonts(properties, latin):
    fonts = properties.get_or_add_rFonts()
    for theme in [key for key in fonts.attrib if key.endswith("Theme")]:
        del fonts.attrib[theme]
    for use in ("ascii", "hAnsi", "cs"):
        fonts.set(_name(f"w:{use}"), latin)
    fonts.set(_name("w:eastAsia"), house.CHINESE)


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
        self.captions, self.count, self.marks, self.last = {}, 0, [], ""

    def add_paragraph(self, style="Normal"):
        """Appends a new paragraph."""
        if style not in self.styles:
            self.styles[style] = self.document.styles[style].style_id
        paragraph = self.body.add_paragraph()
        if style != "Normal":
            paragraph._p.style = self.styles[style]
        return paragraph

    def write(self, block):
        if block.kind == self.last == "code":
            # Without a paragraph between them, both would stand on one ground.
            self.add_spacer()
        self.last = block.kind
        getattr(self, f"write_{block.kind}")(block)

    def add_spacer(self):
        form = self.add_paragraph().paragraph_format
        form.space_after, form.line_spacing = 0, 0.7

    def write_heading(self, block):
        # The title has its own style, so the highest headings below it are parts.
        paragraph = self.add_paragraph(f"Heading {min(max(1, block.level - 1), 6)}")
        self.count += 1
        self.mark(paragraph, f"_Toc{self.count:06}")
        self.add_runs(paragraph, block.runs)

    def mark(self, paragraph, name):
        """Names the beginning of a paragraph, for links to it."""
        number = f"{len(self.marks) + 1}"
        self.marks.append(name)
        paragraph._p.append(_element("w:bookmarkStart", {"w:id": number, "w:name": name}))
        paragraph._p.append(_element("w:bookmarkEnd", {"w:id": number}))

    def write_contents(self, headings):
        """Writes the contents as a field that Word updates; every entry is there already, with a link."""
        head = self.add_paragraph()
        run = head.add_run(words(self.task.language, "contents"))
        run.bold, run.font.size = True, 165_100
        shown = [(number, block) for number, block in enumerate(headings, 1) if block.level <= 3]
        for number, block in shown:
            paragraph = self.add_paragraph(f"toc {max(1, block.level - 1)}")
            if number == shown[0][0]:
                _add_field(paragraph, 'TOC \\o "1-2" \\h \\z \\u', None)
            self.add_link(paragraph, Run(f"{plain(block.runs)[:200]}\t", link=f"#_Toc{number:06}"), is_plain=True)
            _add_field(paragraph, f"PAGEREF _Toc{number:06}", "", is_dirty=True)
        paragraph.add_run()._r.append(_element("w:fldChar", {"w:fldCharType": "end"}))

    def write_text(self, block):
        paragraph = self.add_paragraph("Quote" if block.quote else "Normal")
        self.place(paragraph, block)
        if block.anchor:
            self.mark(paragraph, block.anchor)
        self.add_runs(paragraph, block.runs)

    def write_item(self, block):
        from docx.shared import Cm

        if block.name:
            paragraph = self.add_paragraph("List Paragraph")
            form = paragraph.paragraph_format
            form.left_indent, form.first_line_indent = Cm(0.75 * (block.level + 1)), Cm(-0.75)
            form.tab_stops.add_tab_stop(form.left_indent)
            form.space_after = 38_100
            self.add_runs(paragraph, [Run(f"{block.name}\t"), *block.runs])
            return
        counted = block.number is not None
        name = "List Number" if counted else "List Bullet"
        level = min(block.level, 2)
        paragraph = self.add_paragraph(f"{name} {level + 1}" if level else name)
        self.numberings.number(paragraph, block)
        if block.anchor:
            self.mark(paragraph, block.anchor)
        self.add_runs(paragraph, block.runs)

    def write_code(self, block):
        paragraph = self.add_paragraph("Code")
        self.place(paragraph, block)
        borders = _element("w:pBdr", {})
        for side in ("top", "left", "bottom", "right"):
            borders.append(_element(f"w:{side}", {"w:val": "single", "w:sz": "4", "w:space": "5", "w:color": house.SOFT}))
        _insert_form(paragraph, borders)
        _insert_form(paragraph, _element("w:shd", {"w:val": "clear", "w:color": "auto", "w:fill": house.SOFT}))
        paragraph.add_run(block.text.rstrip("\n"))

    def write_rule(self, _):
        paragraph = self.add_paragraph()
        borders = _element("w:pBdr", {})
        borders.append(_element("w:bottom", {"w:val": "single", "w:sz": "6", "w:space": "1", "w:color": house.LINES}))
        _insert_form(paragraph, borders)

    def write_picture(self, block):
        from pictures import shown_size

        picture = self.task.picture(block.name)
        if picture is None or picture.format == "WEBP":
            if picture is not None:
                self.task.tell_missing(block.name)
            self.add_paragraph().add_run(f"[{block.text or block.name}]").italic = True
            return
        points = [edge / 12_700 for edge in self.room()]
        self.add_figure(picture.content, shown_size(picture, *points), block.text, block.text)

    def write_chart(self, block):
        from chart import draw_chart

        title, block.chart.title = block.chart.title, ""
        drawing = draw_chart(block.chart, 640)
        block.chart.title = title
        wide = self.room()[0] / 12_700
        self.add_figure(drawing.to_png(self.task.fonts), (wide, wide * drawing.height / drawing.width), title,
                        block.chart.description())

    def write_formula(self, block):
        self.add_formula(self.add_paragraph(), formula.parse(block.text), True)

    def add_formula(self, paragraph, node, is_alone=False):
        from docx.oxml import parse_xml

        paragraph._p.append(parse_xml(formula.to_omml(node, is_alone)))

    def add_figure(self, content, size, caption, description):
        """Adds a picture of a size in points, and its numbered caption."""
        from docx.enum.text import WD_ALIGN_PARAGRAPH
        from docx.shared import Pt

        paragraph = self.add_paragraph()
        paragraph.alignment = WD_ALIGN_PARAGRAPH.CENTER
        shape = paragraph.add_run().add_picture(io.BytesIO(content), *(Pt(edge) for edge in size))
        shape._inline.docPr.set("descr", description[:500])
        if caption:
            paragraph.paragraph_format.keep_with_next = True
            self.add_caption("Figure", words(self.task.language, "figure"), caption).alignment = WD_ALIGN_PARAGRAPH.CENTER

    def add_caption(self, kind, name, caption):
        """Adds a paragraph with a numbered caption; the number is a field."""
        self.captions[kind] = self.captions.get(kind, 0) + 1
        paragraph = self.add_paragraph("Caption")
        paragraph.add_run(f"{name} ").bold = True
        _add_field(paragraph, f"SEQ {kind} \\* ARABIC", f"{self.captions[kind]}", is_bold=True)
        paragraph.add_run(f"  {caption[:500]}")
        return paragraph

    def room(self):
        """Returns the maximum width and height of an image."""
        section = self.section
        return (section.page_width - section.left_margin - section.right_margin,
                (section.page_height - section.top_margin - section.bottom_margin) * 0.45)

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
            self.mark(paragraph, f"note-{number}")
            paragraph.add_run(f"{number}. ")
            self.add_runs(paragraph, runs)
            for run in paragraph.runs:
                run.font.size = Pt(9.5)

    def write_table(self, block):
        """Writes a table as XML, because the library takes quadratic time in the number of cells."""
        if block.text:
            self.add_caption("Table", words(self.task.language, "table_name"), block.text).paragraph_format.keep_with_next = True
        indent = int(0.75 * 567 * min(block.level + block.quote, MAX_LEVEL))
        sizes = [size * _TWIPS for size in (10, 9, 8, 7, 6)]
        size, widths = column_widths(block, self.room()[0] / _EMU - indent, sizes, padding=2 * _SIDE + 20)
        table = _element("w:tbl", {})
        table.append(self.table_properties(indent))
        grid = _element("w:tblGrid", {})
        for width in widths:
            grid.append(_element("w:gridCol", {"w:w": f"{int(width)}"}))
        table.append(grid)
        for number, row in enumerate(block.rows):
            table.append(self.table_row(row, widths, block.aligns, number, size / _TWIPS))
        self.document.element.body._insert_tbl(table)
        self.add_spacer()

    def table_properties(self, indent):
        properties = _element("w:tblPr", {})
        properties.append(_element("w:tblW", {"w:w": "0", "w:type": "auto"}))
        properties.append(_element("w:tblInd", {"w:w": f"{indent}", "w:type": "dxa"}))
        borders = _element("w:tblBorders", {})
        for side in ("bottom", "insideH"):
            borders.append(_element(f"w:{side}", {"w:val": "single", "w:sz": "4", "w:space": "0",
                                                  "w:color": house.LINES}))
        properties.append(borders)
        properties.append(_element("w:tblLayout", {"w:type": "fixed"}))
        margins = _element("w:tblCellMar", {})
        for side, width in (("top", 50), ("left", _SIDE), ("bottom", 50), ("right", _SIDE)):
            margins.append(_element(f"w:{side}", {"w:w": f"{width}", "w:type": "dxa"}))
        properties.append(margins)
        return properties

    def table_row(self, row, widths, aligns, number, size):
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
            look.append(_element("w:tcW", {"w:w": f"{int(width)}", "w:type": "dxa"}))
            if number == 0:
                borders = _element("w:tcBorders", {})
                borders.append(_element("w:bottom", {"w:val": "single", "w:sz": "12", "w:space": "0",
                                                     "w:color": house.ACCENT}))
                look.append(borders)
                look.append(_element("w:shd", {"w:val": "clear", "w:color": "auto", "w:fill": house.HEAD}))
            cell.append(look)
            paragraph = _element("w:p", {})
            form = _element("w:pPr", {})
            form.append(_element("w:spacing", {"w:after": "0", "w:line": "252", "w:lineRule": "auto"}))
            if align in ("center", "right"):
                form.append(_element("w:jc", {"w:val": align}))
            paragraph.append(form)
            cell.append(paragraph)
            element.append(cell)
            self.add_runs(Paragraph(paragraph, self.document._body), runs, is_bold=number == 0, size=Pt(size))
        return element

    def add_runs(self, paragraph, runs, is_bold=False, size=None):
        last = None
        for run in runs:
            if run.text is None or not hasattr(run, "bold"):
                paragraph.add_run(f"[{run.text or run.name}]")
                continue
            if run.formula is not None:
                # A formula within a line is several runs.
                if run.formula is not last:
                    self.add_formula(paragraph, run.formula)
                last = run.formula
                continue
            written = self.add_link(paragraph, run) if run.link else paragraph.add_run(run.text)
            if run.bold or is_bold:
                written.bold = True
            if run.italic:
                written.italic = True
            if run.strike:
                written.font.strike = True
            if run.script:
                written.font.superscript = run.script == "sup"
                written.font.subscript = run.script == "sub"
            if run.code:
                _set_fonts(written._r.get_or_add_rPr(), house.CODE)
            if size is not None:
                written.font.size = size

    def add_link(self, paragraph, run, is_plain=False):
        """Adds a run that leads to an address, or to a mark of the document."""
        from docx.opc.constants import RELATIONSHIP_TYPE
        from docx.shared import RGBColor
        from docx.text.run import Run as WrittenRun

        address = run.link[:2000]
        if address.startswith("#"):
            link = _element("w:hyperlink", {"w:anchor": address[1:]})
        else:
            if address not in self.links:
                rels = self.document.part.rels
                self.links[address] = rels._next_rId
                rels.add_relationship(RELATIONSHIP_TYPE.HYPERLINK, address, self.links[address], is_external=True)
            link = _element("w:hyperlink", {"r:id": self.links[address]})
        element = _element("w:r", {})
        link.append(element)
        paragraph._p.append(link)
        written = WrittenRun(element, paragraph)
        written.text = run.text
        if not is_plain:
            written.font.color.rgb = RGBColor.from_string(house.LINK)
        return written


def _numbering_of(document):
    """Returns the lists of a document; a file without lists receives those of the library."""
    import docx
    from docx.opc.constants import RELATIONSHIP_TYPE
    from docx.parts.numbering import NumberingPart

    try:
        return document.part.numbering_part.element
    except NotImplementedError:
        old = docx.Document().part.numbering_part
        new = NumberingPart.load(old.partname, old.content_type, old.blob, document.part.package)
        document.part.relate_to(new, RELATIONSHIP_TYPE.NUMBERING)
        return new.element


class _Numberings:
    """Lists that each begin with their own number."""

    def __init__(self, document):
        self.element = _numbering_of(document)
        self.known = {}
        taken = [int(form.get(_name("w:abstractNumId"))) for form in self.element.iter(_name("w:abstractNum"))]
        first = max(taken, default=0) + 90
        self.forms = {False: self._add_form(first, False), True: self._add_form(first + 1, True)}

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
        # Abstract definitions come before the lists that use them, and after pictures of bullets.
        self.element.insert(len(self.element.findall(_name("w:numPicBullet"))), form)
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
        taken = [int(one.get(_name("w:numId"))) for one in self.element.iter(_name("w:num"))]
        identity = max([1000, *taken]) + 1
        element = _element("w:num", {"w:numId": f"{identity}"})
        element.append(_element("w:abstractNumId", {"w:val": f"{self.forms[counted]}"}))
        if counted:
            start = _element("w:lvlOverride", {"w:ilvl": f"{block.level}"})
            start.append(_element("w:startOverride", {"w:val": f"{block.number}"}))
            element.append(start)
        self.element._insert_num(element)
        return identity
