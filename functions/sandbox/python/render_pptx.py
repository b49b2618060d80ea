"""PowerPoint slides: one per heading of the first two levels, and more if the text needs them."""

import io
import re

import house
import pptx
import pptx_theme
from drawing import shortened
from house import text_width
from markdown import SOURCES, SPEAKER_NOTES, Block, Run, plain
from pptx.dml.color import RGBColor
from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
from pptx.oxml import parse_xml
from pptx.oxml.ns import qn
from pptx.util import Pt
from pptx_charts import add_chart
from pptx_theme import CLOSING, CONTENT, COVER, HEIGHT, SECTION, SPACES, WIDTH, add_foot, add_rect, prepare, prepare_master
from render import set_properties, zip_anew
from tables import column_widths
from words import words

# Maximum slides of a presentation.
MAX_SLIDES = 200

# The box of the content of a slide, in points; the file of a deployment may have another.
LEFT, TOP, RIGHT = pptx_theme.LEFT, pptx_theme.TOP, pptx_theme.RIGHT
ROOM_WIDE, ROOM_HIGH = pptx_theme.ROOM_WIDE, pptx_theme.ROOM_HIGH

# Maximum columns of a table.
MAX_COLUMNS = 25

_GAP = 14
# Font sizes: the first are tried for the fewest slides, the others then fill a slide.
_SIZES, _LARGER = (20, 18, 16), (28, 26, 24, 22, 20, 18, 16)
_TABLE_SIZES = (20, 18, 16, 14, 12, 11, 10, 9, 8)
# The share of the width for text beside a figure, and the height of a row of cards.
_BESIDE = 0.36
_CARD = 104
_LINE = 1.2
# Notes up to this width, in Latin letters, stand below their slide, at most two.
_NOTE_WIDE = 165
# The heading of a last slide that only ends the presentation.
_THANKS = re.compile(r"^(thank you|thanks|questions|q ?& ?a|谢谢|感谢|致谢|提问|问答)", re.IGNORECASE)
_FIGURES = ("picture", "chart")


def render(task, blocks, notes):
    """Returns the bytes of a presentation."""
    parts = _parts(task, blocks)
    fits = all(text_width(plain(runs)) < _NOTE_WIDE for runs in notes)
    if notes and not fits:
        block = [Block("item", runs, number=number, list_id=-1) for number, runs in enumerate(notes, 1)]
        parts.append(_Part([Run(words(task.language, "notes"))], block))
        parts[-1].is_small = True
    deck = _Deck(task, plain(parts[0].heading), notes if fits else [])
    sections = [part for part in parts[1:] if part.level == 1]
    deck.add_cover(parts[0])
    if len(sections) > 1:
        deck.add_agenda(sections)
    for part in parts[1:]:
        if deck.is_full():
            break
        if part is parts[-1] and len(parts) > 2 and _THANKS.match(plain(part.heading).strip()):
            deck.add_cover(part, CLOSING)
        else:
            deck.add_part(part)
    return deck.written()


class _Part:
    """A heading and its content; `notes` are the speaker's notes, and `is_small` is true for notes and sources."""

    def __init__(self, heading, blocks, level=2):
        self.heading, self.level, self.blocks, self.notes = heading, level, [], []
        self.is_small = bool(SOURCES.match(plain(heading).strip()))
        for block in blocks:
            self.add(block)

    def add(self, block):
        found = SPEAKER_NOTES.match(block.plain()) if block.kind == "text" else None
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
    is_parted = False
    for block in blocks[1:] if begins else blocks:
        if block.kind == "heading" and block.level <= 2:
            parts.append(_Part(block.runs, [], block.level))
        elif block.kind == "rule":
            is_parted = bool(parts[-1].blocks) and len(parts) > 1
            continue
        elif len(parts) == 1 and not begins:
            parts.append(_Part(parts[0].heading, [block]))
        else:
            if is_parted:
                # A new slide under the same heading, since no heading follows the rule.
                parts.append(_Part(parts[-1].heading, [], parts[-1].level))
            parts[-1].add(block)
        is_parted = False
    cover = parts[0]
    if not _fits_cover(cover):
        # Content that does not fit on the cover becomes a separate slide.
        parts.insert(1, _Part(cover.heading, cover.blocks))
        cover.blocks = []
    if not plain(cover.heading).strip():
        cover.heading = [Run(words(task.language, "untitled"))]
    return [part for part in parts if part is cover or part.blocks or part.notes or part.level == 1
            or plain(part.heading).strip()]


def _use_room(left, top, width, height):
    """Sets the box of content in this process, which renders one presentation."""
    globals().update(LEFT=left, TOP=top, RIGHT=WIDTH - left - width, ROOM_WIDE=width, ROOM_HIGH=height)


def _fits_cover(part):
    return all(block.kind in ("text", "heading") for block in part.blocks) and \
        sum(text_width(block.plain()) for block in part.blocks) <= 260 and len(part.blocks) <= 4


class _Page:
    """The content of one slide: texts above, tables below, and figures beside or below."""

    def __init__(self):
        self.texts, self.tables, self.figures = [], [], []

    def is_empty(self):
        return not (self.texts or self.tables or self.figures)


def text_height(block, width, size):
    """Returns the height of a text in points at this width and font size, including the gap below."""
    if block.kind == "code":
        lines = sum(1 + int(text_width(line) // max(1, int((width - 14) / (size * 0.8 * 0.56)))) for line in block.text.split("\n"))
        return lines * size * 0.8 * 1.22 + 20
    if block.kind == "formula":
        return block.drawing.height * _formula_scale(block, width, size) + size * 1.2
    if block.kind == "heading":
        size = size * 1.1
    else:
        width = max(60, width - size * 1.3 * (min(block.level, 4) + min(block.quote, 2) + (block.kind == "item")))
    # A Latin letter is about half as wide as high, and words do not fill lines completely.
    letters = max(1, width / (size * 0.54))
    lines = sum(max(1, -(-text_width(line) // letters)) for line in block.plain().split("\n"))
    return lines * size * _LINE + size * 0.5


def _formula_scale(block, width, size):
    return min(size / 14, (width - 20) / block.drawing.width)


def _texts_height(texts, width, size):
    return sum(text_height(block, width, size) for block in texts)


def _fitting(texts, width, room, sizes=_LARGER):
    """Returns the largest font size at which texts fit."""
    return next((size for size in sizes if _texts_height(texts, width, size) <= room), sizes[-1])


def _row_height(row, widths, size):
    lines = 1
    for runs, width in zip(row, widths):
        letters = max(1, (width - 14) / (size * 0.56))
        lines = max(lines, sum(max(1, -(-text_width(line) // letters)) for line in plain(runs).split("\n")))
    return lines * size * 1.22 + size * 0.62


class _Deck:
    """A presentation under construction."""

    def __init__(self, task, title, footnotes):
        self.task, self.footnotes = task, footnotes
        self.logo_wide = 0
        self.has_master = bool(house.PPTX) and self.open_master()
        if not self.has_master:
            self.deck = pptx.Presentation()
            self.layouts = prepare(self.deck, title)
            _use_room(pptx_theme.LEFT, pptx_theme.TOP, pptx_theme.ROOM_WIDE, pptx_theme.ROOM_HIGH)
            self.add_logo()
        set_properties(self.deck.core_properties, task)

    def open_master(self):
        """Uses the PowerPoint file of the deployment, if possible."""
        try:
            self.deck = pptx.Presentation(house.PPTX)
            self.layouts, room = prepare_master(self.deck)
        except Exception as error:  # The library reports a broken file with many kinds of exceptions.
            self.task.note(f"theme: pptx: {error}"[:300])
            return False
        _use_room(*room)
        return True

    def add_logo(self):
        """Adds the logo of the deployment to the layouts."""
        picture = self.task.logo()
        if picture is None:
            return
        high = min(34, 200 * picture.height / picture.width)
        wide = high * picture.width / picture.height
        # Titles end before the logo.
        self.logo_wide = wide + 16
        title = next(holder for holder in self.layouts[CONTENT].placeholders if holder.placeholder_format.idx == 0)
        title.width -= int(Pt(self.logo_wide))
        for layout in self.layouts:
            if layout != self.layouts[CONTENT]:
                # A plate on the dark ground.
                add_rect(layout.shapes, WIDTH - RIGHT - wide - 8, 26, wide + 16, high + 16, "bg1")
            image, rel = layout.part.get_or_add_image_part(io.BytesIO(picture.content))
            box = map(Pt, (WIDTH - RIGHT - wide, 34, wide, high))
            layout.shapes._spTree.add_pic(layout.shapes._next_shape_id, "Logo", image.desc, rel, *box)

    def written(self):
        for slide in self.deck.slides if self.task.is_rtl else ():
            _turn(slide._element)
        written = io.BytesIO()
        self.deck.save(written)
        return zip_anew(written.getvalue())

    # Slides

    def is_full(self):
        """Returns true, and records the missing rest, if the presentation has the maximum number of slides."""
        if len(self.deck.slides) < MAX_SLIDES:
            return False
        self.task.note("cut")
        return True

    def add_slide(self, layout, heading):
        """Adds a slide with its title."""
        slide = self.deck.slides.add_slide(self.layouts[layout])
        if self.has_master:
            add_foot(slide)
        frame = slide.shapes.title.text_frame
        frame.word_wrap = True
        is_content = layout == CONTENT
        wide = text_width(plain(heading))
        room = (ROOM_WIDE - self.logo_wide if is_content else 760) * (1 if is_content else 2.6)
        sizes = (30, 27, 24, 21) if is_content else (48, 42, 36, 30, 26)
        chosen = next((one for one in sizes if wide * one * 0.56 < room), sizes[-1])
        heading = heading if wide < 240 else [Run(plain(heading)[:160] + "…")]
        self.write_runs(frame.paragraphs[0], heading, chosen, None, is_bold=not self.has_master)
        return slide

    def add_cover(self, part, layout=COVER):
        slide = self.add_slide(layout, part.heading)
        below = [holder for holder in slide.placeholders if holder.placeholder_format.idx == 1]
        frame = below[0].text_frame if below else self.add_box(slide, LEFT, TOP + ROOM_HIGH * 0.6, ROOM_WIDE, 110)
        frame.word_wrap = True
        blocks = [block for block in part.blocks if block.runs]
        size = _fitting(blocks, 760, 130, (24, 20, 18, 16, 14))
        for number, block in enumerate(blocks):
            paragraph = frame.paragraphs[0] if number == 0 else frame.add_paragraph()
            paragraph.space_after = Pt(6)
            self.write_runs(paragraph, block.runs, size, None)
        if not blocks:
            _remove_subtitle(slide)
        self.add_footnotes(slide, blocks)
        self.add_notes(slide, part.notes)

    def add_footnotes(self, slide, blocks):
        """Writes the notes of these blocks at the bottom of their slide."""
        lines = [line for block in blocks for line in [block.runs, *(cell for row in block.rows for cell in row)]]
        numbers = sorted({run.note for line in lines for run in line if isinstance(run, Run)
                          and 0 < run.note <= len(self.footnotes)})
        if numbers:
            is_dark = slide.slide_layout != self.layouts[CONTENT] and not self.has_master
            frame = self.add_box(slide, LEFT + 18 * is_dark, HEIGHT - 36 - 12.5 * len(numbers), ROOM_WIDE - 18,
                                 12.5 * len(numbers))
        for place_of, number in enumerate(numbers):
            paragraph = frame.add_paragraph() if place_of else frame.paragraphs[0]
            self.write_runs(paragraph, [Run(f"{number}  "), *self.footnotes[number - 1]], 10,
                            house.LINES if is_dark else house.SOFT_INK)

    def add_agenda(self, sections):
        slide = self.add_slide(CONTENT, [Run(words(self.task.language, "contents"))])
        items = [Block("item", part.heading, number=number) for number, part in enumerate(sections[:6], 1)]
        self.draw_cards(slide, items, TOP)

    def add_part(self, part):
        if part.level == 1 and not part.blocks:
            slide = self.add_slide(SECTION, part.heading)
            _remove_subtitle(slide)
            self.add_notes(slide, part.notes)
            return
        size, pages = self.lay_out(part.blocks)
        for number, page in enumerate(pages or [_Page()]):
            is_more = number and page.tables and pages[number - 1].tables
            more = [Run(words(self.task.language, "continued"))] if is_more else []
            if self.is_full():
                return
            slide = self.add_slide(CONTENT, [*part.heading, *more])
            self.fill(slide, page, size, part.is_small)
            self.add_footnotes(slide, [*page.texts, *page.tables])
            if number == 0:
                self.add_notes(slide, part.notes)

    def add_notes(self, slide, notes):
        if notes:
            slide.notes_slide.notes_text_frame.text = "\n".join(notes)[:10_000]

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
                # A heading goes with what follows it.
                last = [page.texts.pop()] if page.texts and page.texts[-1].kind == "heading" else []
                if not page.is_empty():
                    pages.append(page)
                page = _Page()
                page.texts += last
            if len(pages) > MAX_SLIDES:
                break
            if block.kind == "table":
                page = self.add_table(pages, page, block, size)
            elif block.kind in _FIGURES:
                page.figures.append(block)
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
                most = int((ROOM_HIGH - 24) / (size * 0.8 * 1.22))
                for at in range(0, len(lines), most):
                    yield from self.shorter(Block("code", text="\n".join(lines[at:at + most])), size)
            elif block.kind == "table":
                if len(block.rows[0]) > MAX_COLUMNS:
                    self.task.note("cut")
                    block.rows = [row[:MAX_COLUMNS] for row in block.rows]
                    block.aligns = block.aligns[:MAX_COLUMNS]
                yield block
            elif block.kind in ("chart", "formula"):
                yield block
            elif block.kind != "rule":
                yield from self.shorter(block, size)

    def shorter(self, block, size):
        if text_height(block, ROOM_WIDE, size) <= ROOM_HIGH:
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
        if block.kind in _FIGURES:
            beside = _texts_height(page.texts, _BESIDE * ROOM_WIDE, size) <= ROOM_HIGH
            return len(page.figures) < (1 if page.texts else 2) and beside
        if page.figures and (block.kind == "table" or len(page.figures) > 1):
            return False
        if block.kind == "table":
            # A short table stays whole.
            used = _texts_height(page.texts, ROOM_WIDE, size)
            whole = self.table_height(block.rows, block)
            return used + (whole if whole < ROOM_HIGH * 0.8 else self.table_height(block.rows[:6], block)) <= ROOM_HIGH
        # A heading stays on the same page as the next block.
        more = 2.2 * size if block.kind == "heading" else 0
        wide = _BESIDE * ROOM_WIDE if page.figures else ROOM_WIDE
        return _texts_height([*page.texts, block], wide, size) + more <= ROOM_HIGH

    def table_height(self, rows, block):
        size, widths = column_widths(block, ROOM_WIDE, _TABLE_SIZES[3:])
        return sum(_row_height(row, widths, size) for row in rows) + _GAP

    def add_table(self, pages, page, block, size):
        """Adds a table to the page and to further pages if needed; returns the last page."""
        letters, widths = column_widths(block, ROOM_WIDE, _TABLE_SIZES[3:])
        head, rows = block.rows[0], block.rows[1:]
        while True:
            room = ROOM_HIGH - _texts_height(page.texts, ROOM_WIDE, size) - _GAP
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

    def fill(self, slide, page, size, is_small):
        """Draws a page in the layout that fits its content."""
        if page.figures:
            self.fill_with_figures(slide, page)
        elif page.tables:
            self.fill_with_table(slide, page, size)
        elif is_small:
            self.add_texts(slide, page.texts, min(20, _fitting(page.texts, ROOM_WIDE, ROOM_HIGH)), (LEFT, TOP, ROOM_WIDE))
        else:
            self.fill_with_texts(slide, page.texts)

    def fill_with_figures(self, slide, page):
        left = LEFT
        if page.texts:
            size = min(22, _fitting(page.texts, _BESIDE * ROOM_WIDE, ROOM_HIGH))
            high = _texts_height(page.texts, _BESIDE * ROOM_WIDE, size)
            self.add_texts(slide, page.texts, size, (LEFT, TOP + max(0, min(60, (ROOM_HIGH - high) / 2)), _BESIDE * ROOM_WIDE))
            left += _BESIDE * ROOM_WIDE + 28
        room = (WIDTH - RIGHT - left - _GAP * (len(page.figures) - 1)) / len(page.figures)
        for number, block in enumerate(page.figures):
            draw = self.draw_chart if block.kind == "chart" else self.draw_picture
            draw(slide, block, left + number * (room + _GAP), room)

    def fill_with_table(self, slide, page, size):
        size = min(24, max(size, _fitting(page.texts, ROOM_WIDE, 90))) if page.texts else size
        used = _texts_height(page.texts, ROOM_WIDE, size)
        if used > ROOM_HIGH - 100:
            used = _texts_height(page.texts, ROOM_WIDE, size := _SIZES[-1])
        if page.texts:
            self.add_texts(slide, page.texts, size, (LEFT, TOP, ROOM_WIDE))
        for table in page.tables:
            self.draw_table(slide, table, TOP + (used + _GAP if page.texts else 0))

    def fill_with_texts(self, slide, texts):
        leads = next((at for at, block in enumerate(texts) if block.kind != "text" or block.quote), len(texts))
        items = texts[leads:]
        if texts and all(block.quote and block.kind == "text" for block in texts):
            self.draw_quote(slide, texts)
        elif texts and len(texts) <= 3 and _is_number(texts[0]):
            self.draw_number(slide, texts)
        elif len(texts) in (1, 2) and leads == len(texts) and _texts_height(texts, ROOM_WIDE - 100, 30) < ROOM_HIGH - 60:
            self.draw_statement(slide, texts)
        elif _are_cards(items) and _texts_height(texts[:leads], ROOM_WIDE, 22) < 110:
            self.add_texts(slide, texts[:leads], 22, (LEFT, TOP, ROOM_WIDE))
            self.draw_cards(slide, items, TOP + (_texts_height(texts[:leads], ROOM_WIDE, 22) + 6 if leads else 0))
        elif columns := _columns(texts):
            wide = (ROOM_WIDE - 28) / 2
            size = min(_fitting(column, wide - 40, ROOM_HIGH - 40) for column in columns)
            high = max(_texts_height(column, wide - 40, size) for column in columns) + 40
            for number, column in enumerate(columns):
                left = LEFT + number * (wide + 28)
                add_rect(slide.shapes, left, TOP, wide, high, "bg2")
                add_rect(slide.shapes, left, TOP, wide, 5, f"accent{number + 1}")
                self.add_texts(slide, column, size, (left + 20, TOP + 22, wide - 40))
        else:
            self.add_texts(slide, texts, _fitting(texts, ROOM_WIDE, ROOM_HIGH), (LEFT, TOP, ROOM_WIDE))

    def draw_cards(self, slide, items, top):
        """Draws each item as a row with a mark."""
        room = TOP + ROOM_HIGH - top
        high = min((room + 12) / len(items) - 12, _CARD)
        size = next((size for size in (24, 22, 20, 18) if all(
            text_height(item, ROOM_WIDE - 60, size) <= high for item in items)), 16)
        for number, item in enumerate(items):
            y = top + number * (high + 12)
            add_rect(slide.shapes, LEFT, y, ROOM_WIDE, high, "bg2")
            add_rect(slide.shapes, LEFT, y, 6, high, "accent1")
            indent = 30
            mark = item.name or (f"{item.number}" if item.number is not None else "")
            if mark:
                box = self.add_box(slide, LEFT + 20, y, 50, high, is_centered=True)
                self.write_runs(box.paragraphs[0], [Run(mark)], size + 6, house.ACCENT, is_bold=True)
                indent = 76
            box = self.add_box(slide, LEFT + indent, y, ROOM_WIDE - indent - 20, high, is_centered=True)
            self.write_runs(box.paragraphs[0], item.runs, size, house.INK)

    def draw_quote(self, slide, texts):
        by = texts[-1] if len(texts) > 1 and re.match(r"\s*[—–-]", texts[-1].plain()) else None
        said = [block for block in texts if block is not by]
        size = _fitting(said, ROOM_WIDE - 130, 220, (38, 34, 30, 26, 22, 20))
        high = _texts_height(said, ROOM_WIDE - 130, size)
        top = TOP + max(10, (ROOM_HIGH - high - 60) / 2 - 20)
        mark = self.add_box(slide, LEFT - 6, top - 46, 124, 170)
        self.write_runs(mark.paragraphs[0], [Run("\u201c")], 130, house.SECOND, is_bold=True)
        said = [Block(**{**vars(block), "quote": 0}) for block in said]
        self.add_texts(slide, said, size, (LEFT + 96, top, ROOM_WIDE - 130), house.DARK)
        if by:
            box = self.add_box(slide, LEFT + 96, top + high + 10, ROOM_WIDE - 130, 34)
            self.write_runs(box.paragraphs[0], by.runs, 18, house.SOFT_INK)

    def draw_statement(self, slide, texts):
        size = _fitting(texts, ROOM_WIDE - 100, ROOM_HIGH - 60, (36, 33, 30))
        high = _texts_height(texts, ROOM_WIDE - 100, size)
        add_rect(slide.shapes, LEFT, TOP, ROOM_WIDE, ROOM_HIGH - 20, "bg2")
        add_rect(slide.shapes, LEFT, TOP, 6, ROOM_HIGH - 20, "accent2")
        self.add_texts(slide, texts, size, (LEFT + 50, TOP + (ROOM_HIGH - 20 - high) / 2, ROOM_WIDE - 100), house.DARK)

    def draw_number(self, slide, texts):
        box = self.add_box(slide, LEFT, TOP + 30, ROOM_WIDE, 150, is_centered=True)
        shown = texts[0].plain().strip()
        size = next((size for size in (138, 110, 88, 66) if text_width(shown) * size * 0.56 < ROOM_WIDE), 54)
        self.write_runs(box.paragraphs[0], [Run(shown)], size, house.ACCENT, is_bold=True)
        size = min(32, _fitting(texts[1:], ROOM_WIDE, 150))
        self.add_texts(slide, texts[1:], size, (LEFT, TOP + 200, ROOM_WIDE))

    def add_box(self, slide, left, top, width, height, is_centered=False):
        frame = slide.shapes.add_textbox(*map(Pt, (left, top, width, height))).text_frame
        frame.word_wrap = True
        frame.margin_left = frame.margin_right = frame.margin_top = frame.margin_bottom = 0
        if is_centered:
            frame.vertical_anchor = MSO_ANCHOR.MIDDLE
        return frame

    def add_texts(self, slide, texts, size, box, color=None):
        """Adds paragraphs into a box `(left, top, width)`; each piece of code and each formula has its own box."""
        left, top, width = box
        group = []
        for block in [*texts, None]:
            if block is not None and block.kind not in ("code", "formula"):
                group.append(block)
                continue
            if group:
                high = _texts_height(group, width, size)
                self.draw_texts(slide, group, size, (left, top, width, high), color)
                top += high
                group = []
            if block is not None:
                high = text_height(block, width, size)
                (self.draw_code if block.kind == "code" else self.draw_formula)(slide, block, size, left, top, width)
                top += high

    def draw_texts(self, slide, blocks, size, box, color):
        frame = self.add_box(slide, *box)
        for number, block in enumerate(blocks):
            paragraph = frame.paragraphs[0] if number == 0 else frame.add_paragraph()
            paragraph.line_spacing, paragraph.space_after = 1.0, Pt(size * 0.45)
            self.mark(paragraph, block, size)
            is_heading = block.kind == "heading"
            own = color or (house.ACCENT if is_heading else house.SOFT_INK if block.quote else house.INK)
            self.write_runs(paragraph, block.runs, size * 1.1 if is_heading else size, own, is_bold=is_heading)

    def mark(self, paragraph, block, size):
        """Sets the mark and the indent of an item."""
        properties = paragraph._p.get_or_add_pPr()
        step = int(Pt(size * 1.15))
        level = 0 if block.kind == "heading" else min(block.level, 4) + min(block.quote, 2)
        if block.kind == "item":
            properties.set("marL", f"{step * (level + 1)}")
            properties.set("indent", f"{-step}")
            if block.name or block.number is None:
                mark = f'<a:buChar {SPACES} char="{block.name or "•–▪"[min(block.level, 2)]}"/>'
            else:
                mark = f'<a:buAutoNum {SPACES} type="arabicPeriod" startAt="{min(max(block.number, 1), 32_767)}"/>'
            marks = (f'<a:buClr {SPACES}><a:schemeClr val="accent2"/></a:buClr>', f'<a:buFont {SPACES} typeface="Arial"/>', mark)
        else:
            properties.set("marL", f"{step * level}")
            properties.set("indent", "0")
            marks = f"<a:buNone {SPACES}/>",
        properties.extend(map(parse_xml, marks))

    def draw_code(self, slide, block, size, left, top, width):
        box = slide.shapes.add_textbox(*map(Pt, (left, top, width, text_height(block, width, size) - 10)))
        box.fill.solid()
        box.fill.fore_color.rgb = RGBColor.from_string(house.SOFT)
        frame = box.text_frame
        frame.word_wrap = True
        for number, line in enumerate(block.text.split("\n")):
            paragraph = frame.paragraphs[0] if number == 0 else frame.add_paragraph()
            self.write_runs(paragraph, [Run(line, code=True)], size * 0.8, house.INK)

    def draw_formula(self, slide, block, size, left, top, width):
        scale = _formula_scale(block, width, size)
        wide, high = block.drawing.width * scale, block.drawing.height * scale
        box = (left + (width - wide) / 2, top + size * 0.4, wide, high)
        _add_image(slide, block.drawing.to_png(self.task.fonts, 4 * scale), box, block.text)

    def draw_chart(self, slide, block, left, width):
        chart, top, high = block.chart, TOP, ROOM_HIGH
        told = [part for part in (chart.title, chart.unit if chart.kind != "scatter" else "") if part]
        if told:
            frame = self.add_box(slide, left, top - 2, width, 22)
            title = Run(shortened(told[0], width * 0.8, 14), bold=True)
            self.write_runs(frame.paragraphs[0], [title, *(Run(f"   {part}") for part in told[1:])], 14, house.INK)
            top, high = top + 24, high - 24
        if chart.source:
            frame = self.add_box(slide, left, TOP + ROOM_HIGH - 14, width, 16)
            self.write_runs(frame.paragraphs[0], [Run(shortened(chart.caption(), width, 10.5))], 10.5, house.SOFT_INK)
            high -= 18
        add_chart(slide.shapes, chart, left, top, width, high)

    def draw_picture(self, slide, block, left, width):
        picture = self.task.picture(block.name)
        caption = 20 if block.text else 0
        scale = min(width / picture.width, (ROOM_HIGH - caption) / picture.height, 1.5)
        wide, high = picture.width * scale, picture.height * scale
        top = TOP + (ROOM_HIGH - caption - high) / 2
        _add_image(slide, picture.content, (left + (width - wide) / 2, top, wide, high), block.text)
        if block.text:
            frame = self.add_box(slide, left, top + high + 4, width, 18)
            frame.paragraphs[0].alignment = PP_ALIGN.CENTER
            self.write_runs(frame.paragraphs[0], [Run(shortened(block.text, width, 12))], 12, house.SOFT_INK)

    def draw_table(self, slide, block, top):
        room = TOP + ROOM_HIGH - top
        for place_of in range(len(_TABLE_SIZES)):
            size, widths = column_widths(block, ROOM_WIDE, _TABLE_SIZES[place_of:])
            heights = [_row_height(row, widths, size) for row in block.rows]
            if sum(heights) <= room:
                break
        # Rows grow into the room of the slide, up to a limit.
        more = max(0, min((room - sum(heights)) / len(heights), size * 1.5))
        heights = [height + more for height in heights]
        table = slide.shapes.add_table(len(block.rows), len(widths), *map(Pt, (LEFT, top, ROOM_WIDE, sum(heights)))).table
        table.horz_banding = False
        # The style without a grid; the rows' own lines follow.
        table._tbl.tblPr.find(qn("a:tableStyleId")).text = "{2D5ABB26-0587-4C30-8999-92F81FD0307C}"
        for column, width in zip(table.columns, widths):
            column.width = Pt(width)
        aligns = {"center": PP_ALIGN.CENTER, "right": PP_ALIGN.RIGHT}
        for number, (row, cells, height) in enumerate(zip(table.rows, block.rows, heights)):
            row.height = Pt(height)
            for cell, runs, align in zip(row.cells, cells, block.aligns):
                cell.margin_left = cell.margin_right = Pt(7)
                cell.margin_top = cell.margin_bottom = Pt(2)
                cell.vertical_anchor = MSO_ANCHOR.MIDDLE
                if number == 0:
                    cell.fill.solid()
                    cell.fill.fore_color.rgb = RGBColor.from_string(house.HEAD)
                _add_line_below(cell, house.ACCENT if number == 0 else house.LINES, 1.5 if number == 0 else 0.75)
                paragraph = cell.text_frame.paragraphs[0]
                if align in aligns:
                    paragraph.alignment = aligns[align]
                self.write_runs(paragraph, runs, size, house.DARK if number == 0 else house.INK, is_bold=number == 0)

    def write_runs(self, paragraph, runs, size, color, is_bold=False):
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
                font.size, font.bold, font.italic = Pt(round(size, 1)), run.bold or is_bold, run.italic
                font.name = house.CODE if run.code else house.LATIN
                if color:
                    font.color.rgb = RGBColor.from_string(color)
                properties = written._r.get_or_add_rPr()
                east = properties.makeelement(qn("a:ea"), {"typeface": house.CHINESE})
                properties.find(qn("a:latin")).addnext(east)
                if run.strike:
                    properties.set("strike", "sngStrike")
                if run.script:
                    properties.set("baseline", "30000" if run.script == "sup" else "-25000")
                if run.link and not run.link.startswith("#"):
                    written.hyperlink.address = run.link[:2000]


def _add_image(slide, content, box, description):
    shape = slide.shapes.add_picture(io.BytesIO(content), *map(Pt, box))
    shape._element.nvPicPr.cNvPr.set("descr", description[:500])


def _turn(slide):
    """Makes the text of a slide besides code, and the columns of its tables, right to left."""
    for paragraph in slide.xpath(f"//a:p[not(a:r) or a:r[not(.//a:latin/@typeface='{house.CODE}')]]"):
        properties = paragraph.get_or_add_pPr()
        properties.set("rtl", "1")
        properties.set("algn", {"ctr": "ctr", "r": "l"}.get(properties.get("algn"), "r"))
    for table in slide.iter(qn("a:tblPr")):
        table.set("rtl", "1")


def _is_number(block):
    """Returns true for a bold figure in a line of its own."""
    text = block.plain().strip()
    return block.kind == "text" and block.runs and all(run.bold for run in block.runs if isinstance(run, Run)) and \
        text_width(text) <= 16 and any(letter.isdigit() for letter in text)


def _are_cards(items):
    return 2 <= len(items) <= 6 and all(
        block.kind == "item" and not block.level and not block.quote and block.runs
        and text_height(block, ROOM_WIDE - 60, 18) <= (ROOM_HIGH + 12) / len(items) - 12 for block in items)


def _columns(texts):
    """Returns two columns: texts below two headings, or the halves of a long list; None for other texts."""
    heads = [at for at, block in enumerate(texts) if block.kind == "heading"]
    if len(heads) == 2 and heads[0] == 0:
        return texts[:heads[1]], texts[heads[1]:]
    if len(texts) > 6 and all(block.kind == "item" and text_width(block.plain()) < 60 for block in texts):
        middle = next((at for at in range((len(texts) + 1) // 2, len(texts)) if not texts[at].level), 0)
        return (texts[:middle], texts[middle:]) if middle else None
    return None


def _add_line_below(cell, color, width):
    line = parse_xml(f'<a:lnB {SPACES} w="{int(width * 12_700)}"><a:solidFill><a:srgbClr val="{color}"/></a:solidFill></a:lnB>')
    # Lines come before the fill.
    cell._tc.get_or_add_tcPr().insert(0, line)


def _remove_subtitle(slide):
    for holder in slide.placeholders:
        if holder.placeholder_format.idx == 1:
            holder._element.getparent().remove(holder._element)


def _place_to_part(text):
    """Returns the position near the middle for splitting a text: after a sentence, otherwise after a word."""
    middle = len(text) // 2
    for marks in (".。!！?？\n", "；;，, "):
        places = [match.end() for match in re.finditer(f"[{re.escape(marks)}]", text[:middle + middle // 2])]
        near = [place for place in places if place > middle // 2]
        if near:
            return min(near, key=lambda place: abs(place - middle))
    return max(1, middle)
