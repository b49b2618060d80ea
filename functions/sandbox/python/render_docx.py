"""Word documents."""

import io
import re

import docx
import formula
import house
from chart import draw_chart
from docx.enum.style import WD_STYLE_TYPE
from docx.enum.text import WD_ALIGN_PARAGRAPH, WD_TAB_ALIGNMENT, WD_TAB_LEADER
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls, qn
from docx.parts.numbering import NumberingPart
from docx.shared import Cm, Pt, RGBColor
from docx.styles import BabelFish
from docx.text.paragraph import Paragraph
from docx.text.run import Run as WrittenRun
from markdown import MAX_LEVEL, Run, plain
from pictures import shown_size
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
_AFTER_BORDERS = ("w:shd", "w:tabs", "w:spacing", "w:ind", "w:contextualSpacing", "w:jc", "w:outlineLvl", "w:rPr")


def render(task, blocks, notes):
    """Returns the bytes of a document."""
    document = _open_master(task) if house.DOCX else None
    if document is None:
        document = docx.Document()
        _renew(document)
        _set_page(document, task)
        _set_styles(document)
        _copy_looks(document.styles.element)
    writer = _Writer(document, task)
    set_properties(document.core_properties, task)
    first = blocks[0]
    if first.kind == "heading" and first.level == 1:
        writer.add_runs(writer.add_paragraph("Title"), blocks.pop(0).runs)
    elif task.title:
        document.add_paragraph(task.title, "Title")
    headings = [block for block in blocks if block.kind == "heading"]
    # The title has its own style, so the highest headings below it are parts.
    writer.top = min((block.level for block in headings), default=1)
    if len(headings) in _WITH_CONTENTS:
        writer.write_contents(headings)
    for block in blocks:
        writer.write(block)
    if notes:
        writer.write_notes(notes)
    if task.is_rtl:
        _turn(document)
    _copy_looks(document.element)
    written = io.BytesIO()
    document.save(written)
    return zip_anew(written.getvalue())


def _open_master(task):
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
    for setting in document.settings.element.iter(qn("w:compatSetting")):
        if setting.get(qn("w:name")) == "compatibilityMode":
            setting.set(qn("w:val"), "15")
    # A copy of the styles for Word 2010, which would contradict ours.
    for key, rel in list(document.part.rels.items()):
        if rel.reltype.endswith("/stylesWithEffects"):
            del document.part.rels[key]


def _turn(document):
    """Makes the text of a document right to left, besides code."""
    code = document.styles["Code"]
    for style in document.styles:
        if style.type == WD_STYLE_TYPE.PARAGRAPH and style.base_style is None or style == code:
            properties = style.element.get_or_add_pPr()
            for form in properties.findall(qn("w:bidi")):
                properties.remove(form)
            form = _parse(f'<w:bidi w:val="{int(style != code)}"/>')
            properties.insert_element_before(form, "w:adjustRightInd", "w:snapToGrid", *_AFTER_BORDERS[2:])
    for run in document.element.xpath(f"//w:r[not(../w:pPr/w:pStyle/@w:val='{code.style_id}')]"):
        WrittenRun(run, document).font.rtl = True


def _copy_looks(element):
    """Sets bold, italic and size for scripts such as Arabic and Thai too, which have settings of their own."""
    for look in element.xpath("//w:rPr/w:b | //w:rPr/w:i | //w:rPr/w:sz"):
        copy = look.makeelement(f"{look.tag}Cs", look.attrib)
        for old in look.getparent().findall(copy.tag):
            look.getparent().remove(old)
        look.addnext(copy)


def _set_page(document, task):
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
    _add_borders(header._p.get_or_add_pPr(), house.LINES, 4, 4, "bottom")
    for footer in (section.footer, section.first_page_footer):
        paragraph = footer.paragraphs[0]
        paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
        if house.FOOTER:
            paragraph.add_run(f"{house.FOOTER}\u2003·\u2003")
        _add_field(paragraph, "PAGE", "1")


def _add_field(paragraph, instruction, shown, is_dirty=False, is_bold=None):
    """Adds a field that Word and LibreOffice compute; until then, it shows a text."""
    dirty = ' w:dirty="true"' if is_dirty else ""
    for part in (f'<w:fldChar w:fldCharType="begin"{dirty}/>', f'<w:instrText xml:space="preserve"> {instruction} </w:instrText>',
                 '<w:fldChar w:fldCharType="separate"/>', f"<w:t>{shown}</w:t>", '<w:fldChar w:fldCharType="end"/>'):
        run = paragraph.add_run()
        run.bold = is_bold
        run._r.append(_parse(part))


# The styles of the library's file that a deployment's file may lack, each with the style below it.
_NEEDED = {**dict.fromkeys([*_SIZES, "Quote", "Caption", "List Paragraph", "Header", "Footer"], "Normal"),
           **{f"List {kind}{level}": "List Paragraph" for kind in ("Bullet", "Number") for level in ("", " 2", " 3")}}


def _set_styles(document, own=()):
    """Sets our styles, besides those that the file of a deployment has as its `own`."""
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
    body.font.name, body.font.size = house.LATIN, Pt(10.5)
    body.font.color.rgb = RGBColor.from_string(house.INK)
    body.paragraph_format.space_after, body.paragraph_format.line_spacing = Pt(7), 1.25
    language = body.element.get_or_add_rPr()
    language.append(_parse('<w:lang w:val="en-US" w:eastAsia="zh-CN"/>'))
    _set_fonts(language, house.LATIN)


def _set_headings(headings):
    for style, name, size in headings:
        style.font.name, style.font.size, style.font.bold = house.LATIN, Pt(size), True
        style.font.italic = False
        is_dark = name == "Title" or size < 14
        style.font.color.rgb = RGBColor.from_string(house.DARK if is_dark else house.ACCENT)
        style.paragraph_format.space_before = Pt(0 if name == "Title" else 18 if size > 14 else 12)
        style.paragraph_format.space_after = Pt(12 if name == "Title" else 6)
        properties = style.element.get_or_add_pPr()
        for border in properties.findall(qn("w:pBdr")):
            properties.remove(border)
        if name == "Title":
            _add_borders(properties, house.SECOND, 18, 6, "bottom")
        elif properties.find(qn("w:outlineLvl")) is None:
            # The contents of Word are the paragraphs with a level.
            level = _parse(f'<w:outlineLvl w:val="{int(name[-1]) - 1}"/>')
            properties.insert_element_before(level, "w:divId", "w:cnfStyle", "w:rPr", "w:sectPr", "w:pPrChange")
        _set_fonts(style.element.get_or_add_rPr(), house.LATIN)


def _set_blocks(document, own):
    """Sets the styles of code, quotes, captions, contents, headers and footers."""
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
        _add_borders(quote.element.get_or_add_pPr(), house.SECOND, 18, 10, "left")
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
    for use, font in (("ascii", latin), ("hAnsi", latin), ("eastAsia", house.CHINESE), ("cs", house.OTHERS)):
        fonts.set(qn(f"w:{use}"), font)


def _parse(content):
    """Returns an element; its prefixes need no declaration."""
    return parse_xml(re.sub(r"^<[\w:]+", rf'\g<0> {nsdecls("w")}', content, count=1))


def _add_borders(properties, color, width, space, *sides):
    """Adds lines at these sides of a paragraph, of a width in eighths of a point."""
    lines = "".join(f'<w:{side} w:val="single" w:sz="{width}" w:space="{space}" w:color="{color}"/>' for side in sides)
    # Word requires this order.
    properties.insert_element_before(_parse(f"<w:pBdr>{lines}</w:pBdr>"), *_AFTER_BORDERS)


def _add_for_word(paragraph, content):
    """Adds a run with content that only Word since 2013 knows. LibreOffice would compute no page numbers in contents
    that are a field."""
    paragraph._p.append(_parse('<w:r><mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/'
                               '2006" xmlns:w15="http://schemas.microsoft.com/office/word/2012/wordml">'
                               f'<mc:Choice Requires="w15">{content}</mc:Choice></mc:AlternateContent></w:r>'))


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
        paragraph = self.add_paragraph(f"Heading {block.level - self.top + 1}")
        self.count += 1
        self.mark(paragraph, f"_Toc{self.count:06}")
        self.add_runs(paragraph, block.runs)

    def mark(self, paragraph, name):
        """Names the beginning of a paragraph, for links to it."""
        number = f"{len(self.marks) + 1}"
        self.marks.append(name)
        paragraph._p.append(_parse(f'<w:bookmarkStart w:id="{number}" w:name="{name}"/>'))
        paragraph._p.append(_parse(f'<w:bookmarkEnd w:id="{number}"/>'))

    def write_contents(self, headings):
        """Writes the contents as a field that Word updates; every entry is there already, with a link."""
        head = self.add_paragraph()
        run = head.add_run(words(self.task.language, "contents"))
        run.bold, run.font.size = True, 165_100
        shown = [(number, block) for number, block in enumerate(headings, 1) if block.level - self.top < 2]
        for number, block in shown:
            paragraph = self.add_paragraph(_CONTENTS[block.level - self.top])
            if number == shown[0][0]:
                _add_for_word(paragraph, '<w:fldChar w:fldCharType="begin"/><w:instrText> TOC \\o "1-2" \\h \\z \\u </w:instrText>'
                                         '<w:fldChar w:fldCharType="separate"/>')
            self.add_link(paragraph, Run(f"{plain(block.runs)[:200]}\t", link=f"#_Toc{number:06}"), is_plain=True)
            _add_field(paragraph, f"PAGEREF _Toc{number:06}", "", is_dirty=True)
        _add_for_word(paragraph, '<w:fldChar w:fldCharType="end"/>')

    def write_text(self, block):
        paragraph = self.add_paragraph("Quote" if block.quote else "Normal")
        self.place(paragraph, block)
        if block.anchor:
            self.mark(paragraph, block.anchor)
        self.add_runs(paragraph, block.runs)

    def write_item(self, block):
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
        properties = paragraph._p.get_or_add_pPr()
        _add_borders(properties, house.SOFT, 4, 5, "top", "left", "bottom", "right")
        properties.find(qn("w:pBdr")).addnext(_parse(f'<w:shd w:val="clear" w:color="auto" w:fill="{house.SOFT}"/>'))
        paragraph.add_run(block.text.rstrip("\n"))

    def write_rule(self, _):
        _add_borders(self.add_paragraph()._p.get_or_add_pPr(), house.LINES, 6, 1, "bottom")

    def write_picture(self, block):
        picture = self.task.picture(block.name)
        if picture is None or picture.format == "WEBP":
            if picture is not None:
                self.task.tell_missing(block.name)
            self.add_paragraph().add_run(f"[{block.text or block.name}]").italic = True
            return
        points = [edge / 12_700 for edge in self.room()]
        self.add_figure(picture.content, shown_size(picture, *points), block.text, block.text)

    def write_chart(self, block):
        title, block.chart.title = block.chart.title, ""
        drawing = draw_chart(block.chart, 640)
        block.chart.title = title
        wide = self.room()[0] / 12_700
        self.add_figure(drawing.to_png(self.task.fonts), (wide, wide * drawing.height / drawing.width), title,
                        block.chart.description())

    def write_formula(self, block):
        self.add_formula(self.add_paragraph(), formula.parse(block.text), True)

    def add_formula(self, paragraph, node, is_alone=False):
        paragraph._p.append(parse_xml(formula.to_omml(node, is_alone)))

    def add_figure(self, content, size, caption, description):
        """Adds a picture of a size in points, and its numbered caption."""
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
        if block.level or block.quote:
            paragraph.paragraph_format.left_indent = Cm(0.75 * min(block.level + block.quote, MAX_LEVEL))

    def write_notes(self, notes):
        self.write_rule(None)
        heading = self.add_paragraph()
        heading.paragraph_format.keep_with_next = True
        heading.add_run(words(self.task.language, "notes")).bold = True
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
        rows = "".join(_table_row(widths, block.aligns, number == 0) for number in range(len(block.rows)))
        lines = f'w:val="single" w:sz="4" w:space="0" w:color="{house.LINES}"'
        sides = (("top", 50), ("left", _SIDE), ("bottom", 50), ("right", _SIDE))
        table = _parse(
            f'<w:tbl><w:tblPr>{"<w:bidiVisual/>" * self.task.is_rtl}<w:tblW w:w="0" w:type="auto"/>'
            f'<w:tblInd w:w="{indent}" w:type="dxa"/>'
            f'<w:tblBorders><w:bottom {lines}/><w:insideH {lines}/></w:tblBorders><w:tblLayout w:type="fixed"/><w:tblCellMar>'
            f'{"".join(f"""<w:{side} w:w="{width}" w:type="dxa"/>""" for side, width in sides)}</w:tblCellMar></w:tblPr>'
            f'<w:tblGrid>{"".join(f"""<w:gridCol w:w="{int(width)}"/>""" for width in widths)}</w:tblGrid>{rows}</w:tbl>')
        for number, (row, element) in enumerate(zip(block.rows, table.tr_lst)):
            for runs, cell in zip(row, element.tc_lst):
                self.add_runs(Paragraph(cell.p_lst[0], self.body), runs, is_bold=number == 0, size=Pt(size / _TWIPS))
        self.document.element.body._insert_tbl(table)
        self.add_spacer()

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
        address = run.link[:2000]
        if not address.startswith("#") and address not in self.links:
            self.links[address] = self.document.part.relate_to(address, RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
        link = _parse("<w:hyperlink><w:r/></w:hyperlink>")
        link.set(*(qn("w:anchor"), address[1:]) if address.startswith("#") else (qn("r:id"), self.links[address]))
        paragraph._p.append(link)
        written = WrittenRun(link[0], paragraph)
        written.text = run.text
        if not is_plain:
            written.font.color.rgb = RGBColor.from_string(house.LINK)
        return written


def _table_row(widths, aligns, is_head):
    """Returns a row of empty cells."""
    look = f"""<w:tcBorders><w:bottom w:val="single" w:sz="12" w:space="0" w:color="{house.ACCENT}"/></w:tcBorders>
        <w:shd w:val="clear" w:color="auto" w:fill="{house.HEAD}"/>""" if is_head else ""
    cells = (f'<w:tc><w:tcPr><w:tcW w:w="{int(width)}" w:type="dxa"/>{look}</w:tcPr><w:p><w:pPr>'
             f'<w:spacing w:after="0" w:line="252" w:lineRule="auto"/><w:jc w:val="{align}"/></w:pPr></w:p></w:tc>'
             for width, align in zip(widths, aligns))
    return f'<w:tr><w:trPr><w:cantSplit/>{"<w:tblHeader/>" * is_head}</w:trPr>{"".join(cells)}</w:tr>'


def _numbering_of(document):
    """Returns the lists of a document; a file without lists receives those of the library."""
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
        taken = [int(form.get(qn("w:abstractNumId"))) for form in self.element.iter(qn("w:abstractNum"))]
        first = max(taken, default=0) + 90
        self.forms = {False: self._add_form(first, False), True: self._add_form(first + 1, True)}

    def _add_form(self, number, counted):
        levels = (f'<w:lvl w:ilvl="{level}"><w:start w:val="1"/><w:numFmt w:val="{"decimal" if counted else "bullet"}"/>'
                  f'<w:lvlText w:val="{f"%{level + 1}." if counted else _BULLETS[level % len(_BULLETS)]}"/>'
                  f'<w:lvlJc w:val="left"/><w:pPr><w:ind w:left="{425 * (level + 1)}" w:hanging="425"/></w:pPr></w:lvl>'
                  for level in range(MAX_LEVEL + 1))
        form = _parse(f'<w:abstractNum w:abstractNumId="{number}"><w:multiLevelType w:val="hybridMultilevel"/>'
                      f'{"".join(levels)}</w:abstractNum>')
        # Abstract definitions come before the lists that use them, and after pictures of bullets.
        self.element.insert(len(self.element.findall(qn("w:numPicBullet"))), form)
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
        taken = [int(one.get(qn("w:numId"))) for one in self.element.iter(qn("w:num"))]
        identity = max([1000, *taken]) + 1
        start = (f'<w:lvlOverride w:ilvl="{block.level}"><w:startOverride w:val="{block.number}"/></w:lvlOverride>'
                 if counted else "")
        element = _parse(f'<w:num w:numId="{identity}"><w:abstractNumId w:val="{self.forms[counted]}"/>{start}</w:num>')
        self.element._insert_num(element)
        return identity
