"""PowerPoint slides: one per heading of the first two levels, and more if the text needs them."""

import io
import re

from markdown import Block, Run, plain
from render import set_properties, zip_anew
from render_docx import column_widths, text_width
from words import words

# Maximum slides of a presentation.
MAX_SLIDES = 200

# Maximum columns of a table.
MAX_COLUMNS = 25

# Points; a slide is 13.33 by 7.5 inches.
_WIDTH, _HEIGHT = 960, 540
_LEFT, _TOP, _RIGHT, _BOTTOM = 50, 112, 50, 42
_ROOM_WIDE, _ROOM_HIGH = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
_GAP = 14
# Font sizes tried for one slide; the last size may need more slides.
_SIZES = (20, 18, 16)
_TABLE_SIZES = (14, 12, 10.5)
_ACCENT, _TEXT, _SOFT_TEXT, _HEAD, _SOFT, _LINES = "1F4E79", "1F2933", "5B6773", "DCE6F1", "F3F6F9", "BFC7D1"
_LATIN, _CHINESE, _CODE = "Calibri", "Microsoft YaHei", "Consolas"
_LINE = 1.22
# The beginning of a paragraph or quote with the speaker's notes.
_NOTES = re.compile(r"^\s*(speaker notes|notes|备注|演讲者备注|演讲备注)\s*[:：]\s*", re.IGNORECASE)


def render_pptx(task, blocks, notes):
    """Returns the bytes of a presentation."""
    parts = _parts(task, blocks)
    if notes:
        block = [Block("item", runs, number=number, list_id=-1) for number, runs in enumerate(notes, 1)]
        parts.append(_Part([Run(words(task.language, "notes"))], block))
    deck = _Deck(task)
    for number, part in enumerate(parts):
        if number == 0:
            deck.add_cover(part)
        else:
            deck.add_part(part)
    return deck.written()


class _Part:
    """A heading and its content; `notes` are the speaker's notes."""

    def __init__(self, heading, blocks, level=2):
        self.heading, self.level, self.blocks, self.notes = heading, level, [], []
        for block in blocks:
            self.add(block)

    def add(self, block):
        found = _NOTES.match(block.plain()) if block.kind == "text" else None
        if found:
            self.notes.append(block.plain()[found.end():])
        elif block.quote and self.notes and block.kind == "text":
            # The quote of the notes continues.
            self.notes.append(block.plain())
        else:
            self.blocks.append(block)


def _parts(task, blocks):
    """Returns the parts of a text; the first part is the cover."""
    first = blocks[0]
    begins = first.kind == "heading" and first.level == 1
    parts = [_Part(first.runs if begins else [Run(task.title)], [], 1)]
    for block in blocks[1:] if begins else blocks:
        if block.kind == "heading" and block.level <= 2:
            parts.append(_Part(block.runs, [], block.level))
        elif block.kind == "rule":
            # A new slide under the same heading, unless a heading follows.
            if parts[-1].blocks and len(parts) > 1:
                parts.append(_Part(parts[-1].heading, [], parts[-1].level))
        elif len(parts) == 1 and not begins:
            parts.append(_Part(parts[0].heading, [block]))
        else:
            parts[-1].add(block)
    cover = parts[0]
    if not _fits_cover(cover):
        # Content that does not fit on the cover becomes a separate slide.
        parts.insert(1, _Part(cover.heading, cover.blocks))
        cover.blocks = []
    if not plain(cover.heading).strip():
        cover.heading = [Run(words(task.language, "untitled"))]
    return [part for part in parts if part is cover or part.blocks or part.notes or part.level == 1
            or plain(part.heading).strip()]


def _fits_cover(part):
    return all(block.kind in ("text", "heading") for block in part.blocks) and \
        sum(text_width(block.plain()) for block in part.blocks) <= 260 and len(part.blocks) <= 4


class _Page:
    """The content of one slide: texts above, tables below, and an image beside or below."""

    def __init__(self):
        self.texts, self.tables, self.pictures = [], [], []

    def is_empty(self):
        return not (self.texts or self.tables or self.pictures)


def text_height(block, width, size):
    """Returns the height of a text in points at this width and font size, including the gap below."""
    if block.kind == "code":
        lines = sum(1 + len(line) // max(1, int(width / (size * 0.8 * 0.56))) for line in block.text.split("\n"))
        return lines * size * 0.8 * 1.15 + 16
    if block.kind == "heading":
        size = size * 1.1
    else:
        width = max(60, width - 26 * (min(block.level, 4) + min(block.quote, 2) + (block.kind == "item")))
    # A Latin letter is about half as wide as high, and words do not fill lines completely.
    letters = max(1, width / (size * 0.53))
    lines = sum(max(1, -(-text_width(line) // letters)) for line in block.plain().split("\n"))
    return lines * size * _LINE + size * 0.42


def _texts_height(texts, width, size):
    return sum(text_height(block, width, size) for block in texts)


def _row_height(row, widths, size):
    lines = 1
    for runs, width in zip(row, widths):
        letters = max(1, (width - 14) / (size * 0.56))
        lines = max(lines, sum(max(1, -(-text_width(line) // letters)) for line in plain(runs).split("\n")))
    return lines * size * 1.22 + 8


class _Deck:
    """A presentation under construction."""

    def __init__(self, task):
        import pptx
        from pptx.util import Pt

        self.task, self.Pt = task, Pt
        self.deck = pptx.Presentation()
        self.deck.slide_width, self.deck.slide_height = Pt(_WIDTH), Pt(_HEIGHT)
        _shape_layouts(self.deck, Pt)
        set_properties(self.deck.core_properties, task)
        self.count = 0

    def written(self):
        for number, slide in enumerate(self.deck.slides, 1):
            if number > 1:
                self.add_number(slide, number)
        written = io.BytesIO()
        self.deck.save(written)
        return zip_anew(written.getvalue())

    # Slides

    def add_slide(self, layout, heading):
        """Adds a slide with its title; returns None if the maximum is reached."""
        if self.count >= MAX_SLIDES:
            self.task.note("cut")
            return None
        self.count += 1
        slide = self.deck.slides.add_slide(self.deck.slide_layouts[layout])
        title = slide.shapes.title
        if layout == _TITLE_ONLY:
            _set_box(title, self.Pt, _LEFT, 26, _ROOM_WIDE, 66)
        frame = title.text_frame
        frame.word_wrap = True
        size = {_COVER: (44, 36, 28), _SECTION: (40, 32, 26), _TITLE_ONLY: (30, 26, 22)}[layout]
        wide = text_width(plain(heading))
        chosen = next((one for one in size if wide * one * 0.55 < (_ROOM_WIDE - 20) * (3 if layout != _TITLE_ONLY else
                       1)), size[-1])
        heading = heading if wide < 240 else [Run(plain(heading)[:160] + "…")]
        self.write_runs(frame.paragraphs[0], heading, chosen, _ACCENT, is_bold=True)
        return slide

    def add_cover(self, part):
        slide = self.add_slide(_COVER, part.heading)
        frame = slide.placeholders[1].text_frame
        frame.word_wrap = True
        for number, block in enumerate(part.blocks):
            paragraph = frame.paragraphs[0] if number == 0 else frame.add_paragraph()
            self.write_runs(paragraph, block.runs, 20, _SOFT_TEXT)
        if not part.blocks:
            _remove(slide.placeholders[1])
        self.add_notes(slide, part.notes)

    def add_part(self, part):
        if part.level == 1 and not part.blocks:
            slide = self.add_slide(_SECTION, part.heading)
            if slide is not None:
                _remove(slide.placeholders[1])
                self.add_notes(slide, part.notes)
            return
        size, pages = self.lay_out(part.blocks)
        for number, page in enumerate(pages or [_Page()]):
            slide = self.add_slide(_TITLE_ONLY, part.heading)
            if slide is None:
                return
            self.fill(slide, page, size)
            if number == 0:
                self.add_notes(slide, part.notes)

    def add_notes(self, slide, notes):
        if notes:
            slide.notes_slide.notes_text_frame.text = "\n".join(notes)[:10_000]

    def add_number(self, slide, number):
        from pptx.enum.text import PP_ALIGN
        from pptx.oxml import parse_xml

        box = slide.shapes.add_textbox(self.Pt(_WIDTH - 110), self.Pt(_HEIGHT - 34), self.Pt(70), self.Pt(22))
        box.name = "Slide Number"
        paragraph = box.text_frame.paragraphs[0]
        paragraph.alignment = PP_ALIGN.RIGHT
        name = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
        field = parse_xml(f'<a:fld {name} id="{{B6F15528-21DE-4FAA-801E-634DDDAF4B2B}}" type="slidenum">'
                          f'<a:rPr lang="en-US" sz="1100"><a:solidFill><a:srgbClr val="{_SOFT_TEXT}"/></a:solidFill>'
                          f'</a:rPr><a:t>{number}</a:t></a:fld>')
        paragraph._p.append(field)

    # Layout

    def lay_out(self, blocks):
        """Returns a font size and the pages of these blocks: the largest size with the fewest pages."""
        best = None
        for size in _SIZES:
            pages = self.pages(blocks, size)
            if best is None or len(pages) < len(best[1]):
                best = size, pages
            if len(pages) <= 1:
                break
        return best

    def pages(self, blocks, size):
        pages, page = [], _Page()
        for block in self.pieces(blocks, size):
            if not page.is_empty() and not self.takes(page, block, size):
                pages.append(page)
                page = _Page()
            if len(pages) > MAX_SLIDES:
                break
            if block.kind == "table":
                page = self.add_table(pages, page, block, size)
            elif block.kind == "picture":
                page.pictures.append(block)
            else:
                page.texts.append(block)
        return pages if page.is_empty() else [*pages, page]

    def pieces(self, blocks, size):
        """Returns blocks that each fit on a slide, and existing images."""
        for block in blocks:
            if block.kind == "picture":
                picture = self.task.picture(block.name)
                if picture is not None and picture.format == "WEBP":
                    self.task.tell_missing(block.name)
                elif picture is not None:
                    yield block
            elif block.kind == "code":
                lines = block.text.split("\n")
                most = int((_ROOM_HIGH - 16) / (size * 0.8 * 1.15))
                for at in range(0, len(lines), most):
                    yield from self.shorter(Block("code", text="\n".join(lines[at:at + most])), size)
            elif block.kind == "table":
                if len(block.rows[0]) > MAX_COLUMNS:
                    self.task.note("cut")
                    block.rows = [row[:MAX_COLUMNS] for row in block.rows]
                    block.aligns = block.aligns[:MAX_COLUMNS]
                yield block
            else:
                yield from self.shorter(block, size)

    def shorter(self, block, size):
        if text_height(block, _ROOM_WIDE, size) <= _ROOM_HIGH:
            yield block
            return
        text = block.text or block.plain()
        middle = _place_to_part(text)
        for part in (text[:middle], text[middle:]):
            new = Block(**{**vars(block), "runs": [] if block.text else [Run(part.strip())],
                           "text": part if block.text else ""})
            yield from self.shorter(new, size)

    def takes(self, page, block, size):
        """Returns true if a page has room for another block."""
        if page.tables:
            return False
        if block.kind == "picture":
            beside = _texts_height(page.texts, _ROOM_WIDE * 0.46, size) <= _ROOM_HIGH
            return len(page.pictures) < (1 if page.texts else 2) and beside
        if page.pictures and (block.kind == "table" or len(page.pictures) > 1):
            return False
        if block.kind == "table":
            used = _texts_height(page.texts, _ROOM_WIDE, size)
            return used + self.table_height(block.rows[:4], block) <= _ROOM_HIGH
        # A heading stays on the same page as the next block.
        more = 2.2 * size if block.kind == "heading" else 0
        wide = _ROOM_WIDE * 0.46 if page.pictures else _ROOM_WIDE
        return _texts_height([*page.texts, block], wide, size) + more <= _ROOM_HIGH

    def table_height(self, rows, block):
        size = _table_size(block)
        widths = column_widths(block, _ROOM_WIDE)
        return sum(_row_height(row, widths, size) for row in rows) + _GAP

    def add_table(self, pages, page, block, size):
        """Adds a table to the page and to further pages if needed; returns the last page."""
        widths, letters = column_widths(block, _ROOM_WIDE), _table_size(block)
        head, rows = block.rows[0], block.rows[1:]
        while True:
            room = _ROOM_HIGH - _texts_height(page.texts, _ROOM_WIDE, size) - _GAP
            room -= _row_height(head, widths, letters)
            taken = 0
            for row in rows:
                room -= _row_height(row, widths, letters)
                if room < 0 and taken:
                    break
                taken += 1
            page.tables.append(Block("table", rows=[head, *rows[:taken]], aligns=block.aligns))
            rows = rows[taken:]
            if not rows or len(pages) > MAX_SLIDES:
                return page
            pages.append(page)
            page = _Page()

    # Drawing

    def fill(self, slide, page, size):
        width = _ROOM_WIDE * 0.46 if page.pictures and page.texts else _ROOM_WIDE
        used = _texts_height(page.texts, width, size)
        if page.texts:
            height = _ROOM_HIGH if page.pictures else min(used + 8, _ROOM_HIGH)
            self.add_texts(slide, page, size, width, height)
        for table in page.tables:
            self.draw_table(slide, table, _TOP + (used + _GAP if page.texts else 0))
        if page.pictures:
            left = _LEFT + (width + 24 if page.texts else 0)
            room = (_WIDTH - _RIGHT - left - _GAP * (len(page.pictures) - 1)) / len(page.pictures)
            for number, block in enumerate(page.pictures):
                self.draw_picture(slide, block, left + number * (room + _GAP), room)

    def add_texts(self, slide, page, size, width, height):
        """Adds a box of paragraphs; each piece of code has its own box."""
        top = _TOP
        group = []
        for block in [*page.texts, None]:
            if block is not None and block.kind != "code":
                group.append(block)
                continue
            if group:
                high = _texts_height(group, width, size)
                alone = len(group) == len(page.texts)
                self.draw_texts(slide, group, size, top, width, height if alone else high)
                top += high
                group = []
            if block is not None:
                high = text_height(block, width, size)
                self.draw_code(slide, block, size, top, width, high - 10)
                top += high

    def draw_texts(self, slide, blocks, size, top, width, height):
        from pptx.util import Emu

        box = slide.shapes.add_textbox(*(self.Pt(edge) for edge in (_LEFT, top, width, height)))
        frame = box.text_frame
        frame.word_wrap = True
        frame.margin_left = frame.margin_right = Emu(0)
        frame.margin_top = frame.margin_bottom = Emu(0)
        for number, block in enumerate(blocks):
            paragraph = frame.paragraphs[0] if number == 0 else frame.add_paragraph()
            paragraph.line_spacing, paragraph.space_after = 1.02, self.Pt(size * 0.4)
            self.mark(paragraph, block, size)
            is_heading = block.kind == "heading"
            color = _ACCENT if is_heading else _SOFT_TEXT if block.quote else _TEXT
            self.write_runs(paragraph, block.runs, size * 1.1 if is_heading else size, color, is_bold=is_heading)

    def mark(self, paragraph, block, size):
        """Sets the mark and the indent of an item."""
        from pptx.oxml import parse_xml

        properties = paragraph._p.get_or_add_pPr()
        step = int(self.Pt(size * 1.15))
        name = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
        level = 0 if block.kind == "heading" else min(block.level, 4) + min(block.quote, 2)
        if block.kind == "item":
            properties.set("marL", f"{step * (level + 1)}")
            properties.set("indent", f"{-step}")
            if block.number is None:
                mark = f'<a:buChar {name} char="{"•–▪"[min(block.level, 2)]}"/>'
            else:
                number = min(max(block.number, 1), 32_767)
                mark = f'<a:buAutoNum {name} type="arabicPeriod" startAt="{number}"/>'
            properties.append(parse_xml(f'<a:buFont {name} typeface="Arial"/>'))
            properties.append(parse_xml(mark))
        else:
            properties.set("marL", f"{step * level}")
            properties.set("indent", "0")
            properties.append(parse_xml(f"<a:buNone {name}/>"))

    def draw_code(self, slide, block, size, top, width, height):
        from pptx.dml.color import RGBColor

        box = slide.shapes.add_textbox(*(self.Pt(edge) for edge in (_LEFT, top, width, height)))
        box.fill.solid()
        box.fill.fore_color.rgb = RGBColor.from_string(_SOFT)
        frame = box.text_frame
        frame.word_wrap = True
        for number, line in enumerate(block.text.split("\n")):
            paragraph = frame.paragraphs[0] if number == 0 else frame.add_paragraph()
            self.write_runs(paragraph, [Run(line, code=True)], size * 0.8, _TEXT)

    def draw_picture(self, slide, block, left, width):
        picture = self.task.picture(block.name)
        caption = 20 if block.text else 0
        scale = min(width / picture.width, (_ROOM_HIGH - caption) / picture.height, 1.5)
        wide, high = picture.width * scale, picture.height * scale
        top = _TOP + (_ROOM_HIGH - caption - high) / 2
        place = (left + (width - wide) / 2, top, wide, high)
        shape = slide.shapes.add_picture(io.BytesIO(picture.content), *(self.Pt(edge) for edge in place))
        shape._element.nvPicPr.cNvPr.set("descr", block.text[:500])
        if block.text:
            from pptx.enum.text import PP_ALIGN

            box = slide.shapes.add_textbox(self.Pt(left), self.Pt(top + high), self.Pt(width), self.Pt(22))
            box.text_frame.word_wrap = True
            paragraph = box.text_frame.paragraphs[0]
            paragraph.alignment = PP_ALIGN.CENTER
            shown = block.text if text_width(block.text) * 6.5 < width else block.text[:int(width / 13)] + "…"
            self.write_runs(paragraph, [Run(shown)], 12, _SOFT_TEXT)

    def draw_table(self, slide, block, top):
        from pptx.dml.color import RGBColor
        from pptx.enum.text import MSO_ANCHOR, PP_ALIGN

        size, widths = _table_size(block), column_widths(block, _ROOM_WIDE)
        heights = [_row_height(row, widths, size) for row in block.rows]
        shape = slide.shapes.add_table(len(block.rows), len(widths), self.Pt(_LEFT), self.Pt(top),
                                       self.Pt(_ROOM_WIDE), self.Pt(sum(heights)))
        table = shape.table
        for column, width in zip(table.columns, widths):
            column.width = self.Pt(width)
        aligns = {"center": PP_ALIGN.CENTER, "right": PP_ALIGN.RIGHT}
        for number, (row, cells, height) in enumerate(zip(table.rows, block.rows, heights)):
            row.height = self.Pt(height)
            for cell, runs, align in zip(row.cells, cells, block.aligns):
                cell.margin_left = cell.margin_right = self.Pt(6)
                cell.margin_top = cell.margin_bottom = self.Pt(3)
                cell.vertical_anchor = MSO_ANCHOR.MIDDLE
                cell.fill.solid()
                fill = _HEAD if number == 0 else _SOFT if number % 2 == 0 else "FFFFFF"
                cell.fill.fore_color.rgb = RGBColor.from_string(fill)
                paragraph = cell.text_frame.paragraphs[0]
                if align in aligns:
                    paragraph.alignment = aligns[align]
                self.write_runs(paragraph, runs, size, _ACCENT if number == 0 else _TEXT, is_bold=number == 0)

    def write_runs(self, paragraph, runs, size, color, is_bold=False):
        from pptx.dml.color import RGBColor
        from pptx.oxml.ns import qn

        for run in runs:
            if not isinstance(run, Run):
                run = Run(f"[{run.text or run.name}]")
            for number, line in enumerate(run.text.split("\n")):
                if number:
                    paragraph.add_line_break()
                if not line:
                    continue
                written = paragraph.add_run()
                written.text = line
                font = written.font
                font.size, font.bold, font.italic = self.Pt(round(size, 1)), run.bold or is_bold, run.italic
                font.name = _CODE if run.code else _LATIN
                font.color.rgb = RGBColor.from_string(color)
                properties = written._r.get_or_add_rPr()
                east = properties.makeelement(qn("a:ea"), {"typeface": _CHINESE})
                properties.find(qn("a:latin")).addnext(east)
                if run.strike:
                    properties.set("strike", "sngStrike")
                if run.note:
                    properties.set("baseline", "30000")
                if run.link:
                    written.hyperlink.address = run.link[:2000]


_COVER, _SECTION, _TITLE_ONLY = 0, 2, 5


def _shape_layouts(deck, Pt):
    """Widens the library's layouts, which are for narrow slides."""
    from pptx.enum.text import MSO_ANCHOR, PP_ALIGN

    for layout in deck.slide_layouts:
        for holder in list(layout.placeholders):
            if holder.placeholder_format.type in _FOOT:
                _remove(holder)
    for holder in list(deck.slide_master.placeholders):
        if holder.placeholder_format.type in _FOOT:
            _remove(holder)
    boxes = {_COVER: ((_LEFT + 20, 150, _ROOM_WIDE - 40, 130), (_LEFT + 20, 296, _ROOM_WIDE - 40, 130)),
             _SECTION: ((_LEFT + 20, 190, _ROOM_WIDE - 40, 130), (_LEFT + 20, 330, _ROOM_WIDE - 40, 80)),
             _TITLE_ONLY: ((_LEFT, 26, _ROOM_WIDE, 66),)}
    for number, places in boxes.items():
        layout = deck.slide_layouts[number]
        for holder, place in zip(layout.placeholders, places):
            _set_box(holder, Pt, *place)
            frame = holder.text_frame
            frame.margin_left = frame.margin_right = 0
            frame.vertical_anchor = MSO_ANCHOR.TOP if place[1] > 290 else MSO_ANCHOR.BOTTOM
            for paragraph in frame.paragraphs:
                paragraph.alignment = PP_ALIGN.LEFT
        _align_left(layout)
        line = layout.shapes if number == _TITLE_ONLY else None
        if line is not None:
            _add_line(layout, _LEFT, 97, _ROOM_WIDE)
        else:
            _add_line(layout, _LEFT + 20, places[0][1] + places[0][3] + 7, 120)
    for holder in deck.slide_master.placeholders:
        place = (_LEFT, 26, _ROOM_WIDE, 66) if holder.placeholder_format.idx == 0 else (_LEFT, _TOP, _ROOM_WIDE,
                                                                                        _ROOM_HIGH)
        _set_box(holder, Pt, *place)


# Date, footer and number: placeholders of master and layouts that slides do not show by default.
_FOOT = (13, 15, 16)


def _align_left(layout):
    """Aligns titles to the left, because the library's layouts center titles."""
    from pptx.oxml import parse_xml
    from pptx.oxml.ns import qn

    name = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    for holder in layout.placeholders:
        body = holder._element.txBody
        styles = body.find(qn("a:lstStyle"))
        for old in list(styles):
            styles.remove(old)
        styles.append(parse_xml(f'<a:lvl1pPr {name} marL="0" indent="0" algn="l"><a:buNone/>'
                                f'<a:defRPr cap="none"/></a:lvl1pPr>'))


def _add_line(layout, left, top, width):
    from pptx.oxml import parse_xml

    spaces = ('xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
              'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"')
    to = 12_700
    layout.shapes._spTree.append(parse_xml(
        f'<p:sp {spaces}><p:nvSpPr><p:cNvPr id="99" name="Line"/><p:cNvSpPr/><p:nvPr userDrawn="1"/></p:nvSpPr>'
        f'<p:spPr><a:xfrm><a:off x="{int(left * to)}" y="{int(top * to)}"/>'
        f'<a:ext cx="{int(width * to)}" cy="{int(2 * to)}"/></a:xfrm><a:prstGeom prst="rect"><a:avLst/></a:prstGeom>'
        f'<a:solidFill><a:srgbClr val="{_HEAD}"/></a:solidFill><a:ln><a:noFill/></a:ln></p:spPr></p:sp>'))


def _set_box(shape, Pt, left, top, width, height):
    shape.left, shape.top, shape.width, shape.height = Pt(left), Pt(top), Pt(width), Pt(height)


def _remove(shape):
    shape._element.getparent().remove(shape._element)


def _table_size(block):
    """Returns the font size of a table, which decreases with the number of columns."""
    columns = len(block.rows[0])
    return _TABLE_SIZES[0] if columns <= 5 else _TABLE_SIZES[1] if columns <= 9 else _TABLE_SIZES[2]


def _place_to_part(text):
    """Returns the position near the middle for splitting a text: after a sentence, otherwise after a word."""
    middle = len(text) // 2
    for marks in (".。!！?？\n", "；;，, "):
        places = [match.end() for match in re.finditer(f"[{re.escape(marks)}]", text[:middle + middle // 2])]
        near = [place for place in places if place > middle // 2]
        if near:
            return min(near, key=lambda place: abs(place - middle))
    return max(1, middle)
