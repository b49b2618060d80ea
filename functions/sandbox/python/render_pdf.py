"""PDF documents: the blocks of a document as data for the template `report.typ`."""

import io
import json
import re

import typst
from PIL import Image, ImageFont

import formula
import house
from chart import draw_chart
from markdown import Block, Run, plain
from pictures import shown_size
from tables import NUMBER, TOKEN, column_widths
from typesetting import FONTS, find_font, name_scripts, read_template, typeset
from words import words

# Points: the text of a page of A4.
_WIDE, _HIGH = 595.28 - 2 * 62, 841.89 - 72 - 66
_SIZES = {1: 19, 2: 15, 3: 12.5, 4: 11, 5: 10.5, 6: 10.5}
_BULLETS = "•–▪"
# Headings with which a document of several pages has a cover with contents: more would be many pages of contents.
_WITH_CONTENTS = range(3, 151)
# Notes of a document that stand on their pages; more take much memory, and follow the text.
_MOST_NOTES = 300
# Headings that the contents of a cover have room for, that one column has room for, and that it has in large letters.
_MOST_LISTED, _MOST_IN_COLUMN, _MOST_LARGE = 54, 30, 22
# Maximum characters of the line below a title.
_MAX_SUBTITLE = 120
# Maximum characters of a table or quote that no page parts.
_MAX_WHOLE = 1_200
# Where a word may end that is wider than its line.
_ANYWHERE = "\u200b"


def render(task, blocks, notes):
    """Returns the bytes of a document."""
    title = [Run(task.title)] if task.title else []
    if blocks[0].kind == "heading" and blocks[0].level == 1:
        title = blocks.pop(0).runs
    writer = _Writer(task, blocks, notes)
    subtitle = []
    if title and blocks and blocks[0].kind == "text" and len(blocks[0].plain()) <= _MAX_SUBTITLE \
            and not blocks[0].quote:
        subtitle = blocks.pop(0).runs
    document = writer.document(title, subtitle, blocks)
    template = read_template("report.typ").decode()

    def compile_document():
        files = {"document.json": json.dumps(document, ensure_ascii=False).encode(),
                 "formula.typ": read_template("formula.typ"), **writer.files}
        return typeset(template, files, task.fonts, format="pdf", timestamp=0)

    try:
        return compile_document()
    except typst.TypstError:
        if not writer.pictures:
            raise
        # Some pictures that Pillow opens have a form that typst does not.
        for name in writer.pictures:
            writer.files[name] = _as_png(writer.files[name])
        return compile_document()


def _as_png(content):
    written = io.BytesIO()
    Image.open(io.BytesIO(content)).convert("RGBA").save(written, "PNG")
    return written.getvalue()


class _Writer:
    """Writes blocks as data, and their pictures as `files`."""

    def __init__(self, task, blocks, notes):
        self.task, self.notes, self.files, self.pictures = task, notes, {}, []
        self.has_footnotes = len(notes) <= _MOST_NOTES
        self.anchors = {block.anchor for block in blocks} - {""}
        self.anchors |= set() if self.has_footnotes else {f"note-{number + 1}" for number in range(len(notes))}
        self.noted = set()
        self.measures = [_open_font(find_font(task.fonts, is_bold)) for is_bold in (False, True)]

    def document(self, title, subtitle, blocks):
        """Returns the content of a document."""
        headings = [block.level for block in blocks if block.kind == "heading"]
        self.top = min(headings, default=1)
        language, told = self.task.language, plain(title)
        listed = sum(level <= self.top + 1 for level in headings)
        parts = headings.count(self.top)
        # In Chinese, signs that both scripts have are Chinese.
        fonts = [{"name": FONTS[0], "covers": "latin-in-cjk"} if language == "zh" else FONTS[0], *FONTS[1:]]
        return {
            "title": self.task.title, "header": _shortened(self.task.title or told), "lang": language,
            "rtl": self.task.is_rtl, "region": "cn" if language == "zh" else None, "fonts": fonts,
            "colors": {name: f"#{color}" for name, color in _colors().items()},
            "footer": name_scripts(house.FOOTER)[0], "logo": self.logo(),
            "words": {"contents": words(language, "contents"), "figure": words(language, "figure"),
                      "table": words(language, "table_name")},
            "heading": self.runs(title), "subtitle": self.runs(subtitle),
            "contents": {"is-wanted": bool(title) and listed in _WITH_CONTENTS,
                         "depth": 1 if listed > _MOST_LISTED and parts in _WITH_CONTENTS else 2,
                         "columns": 2 if listed > _MOST_IN_COLUMN else 1, "size": 10.5 if listed <= _MOST_LARGE else 9.5},
            "has-parts": 0 < parts < listed,
            "blocks": self.blocks(blocks, 0) + self.end_notes(), "notes": [self.runs(runs, 8.8) for runs in self.notes],
        }

    def logo(self):
        """Adds the deployment's logo to the files; returns its name, or an empty text."""
        picture = self.task.logo()
        if picture is None:
            return ""
        name = f"logo.{picture.format.lower()}"
        self.files[name] = picture.content
        return name

    def end_notes(self):
        """Returns notes that follow the text as blocks."""
        if self.has_footnotes:
            return []
        notes = [Block("item", runs, number=number, anchor=f"note-{number}") for number, runs in enumerate(self.notes, 1)]
        return [self.write_rule(None), *map(self.write_item, notes)]

    # Text

    def width(self, text, is_bold=False):
        """Returns the width of a text at the font size 1."""
        latin = "".join(letter for letter in text if letter < "\u2e80")
        return self.measures[is_bold].getlength(latin) / 100 + len(text) - len(latin)

    def runs(self, runs, size=10.5, room=_WIDE):
        """Returns runs as data, in which words that are wider than `room` may break."""
        written, last = [], None
        for run in runs:
            if not isinstance(run, Run):
                run = Run(f"[{run.text or run.name}]", italic=True)
            if run.formula is not None:
                # A formula within a line is several runs.
                if run.formula is not last:
                    written.append({"formula": run.formula})
                last = run.formula
                continue
            if run.note and self.has_footnotes:
                written.append({"note": run.note, "is-first": run.note not in self.noted})
                self.noted.add(run.note)
                continue
            text = TOKEN.sub(lambda found: self.breakable(found[0], size, room), run.text)
            told = {"text": text, "bold": run.bold, "italic": run.italic, "code": run.code, "strike": run.strike,
                    "script": run.script, "link": run.link[:2000]}
            if run.link.startswith("#") and run.link[1:] not in self.anchors:
                told["link"] = ""
            written.append({key: value for key, value in told.items() if value or key == "text"})
        return written

    def breakable(self, token, size, room):
        if len(token) * size < room or self.width(token, True) * size <= room:
            return token
        return _ANYWHERE.join(token)

    # Blocks

    def blocks(self, blocks, quote):
        """Returns blocks as data; those within more quotes are a block of their own."""
        written, inside = [], []
        for block in [*blocks, None]:
            if block is not None and block.quote > quote:
                inside.append(block)
                continue
            if inside:
                written.append({"kind": "quote", "blocks": self.blocks(inside, quote + 1),
                                "is-whole": all(block.kind == "text" for block in inside)
                                and _is_short([block.runs for block in inside])})
                inside = []
            if block is not None:
                written.append(getattr(self, f"write_{block.kind}")(block))
        return written

    def write_heading(self, block):
        return {"kind": "heading", "level": block.level - self.top + 1, "size": _SIZES[min(block.level, 6)],
                "runs": self.runs(block.runs, _SIZES[min(block.level, 6)])}

    def write_text(self, block):
        indent = 17 * block.level
        return {"kind": "text", "indent": indent, "anchor": block.anchor,
                "runs": self.runs(block.runs, room=_WIDE - indent - 13 * block.quote)}

    def write_item(self, block):
        indent = 17 * block.level
        return {"kind": "item", "indent": indent, "anchor": block.anchor, "is-number": block.number is not None,
                "mark": block.name or (f"{block.number}." if block.number is not None
                                       else _BULLETS[min(block.level, 2)]),
                "runs": self.runs(block.runs, room=_WIDE - indent - 26 - 13 * block.quote)}

    def write_code(self, block):
        indent = 17 * block.level
        most = int((_WIDE - 18 - indent - 13 * block.quote) / (8.7 * 0.605))
        lines = [part for line in block.text.expandtabs(4).split("\n") for part in _wrapped(line, most)]
        return {"kind": "code", "indent": indent, "lang": block.name or None, "text": "\n".join(lines)}

    def write_rule(self, _):
        return {"kind": "rule"}

    def write_formula(self, block):
        return {"kind": "formula", "formula": formula.parse(block.text)}

    def write_picture(self, block):
        picture = self.task.picture(block.name)
        if picture is None:
            return {"kind": "text", "indent": 0, "runs": self.runs([block])}
        width, _ = shown_size(picture, _WIDE - 17 * block.level - 13 * block.quote, _HIGH * 0.45)
        name = f"{len(self.files)}.{picture.format.lower()}"
        self.pictures.append(name)
        return self.figure(name, picture.content, width, block.text, block.text)

    def write_chart(self, block):
        chart = block.chart
        title, chart.title = chart.title, ""
        drawing = draw_chart(chart, 640)
        chart.title = title
        return self.figure(f"{len(self.files)}.svg", drawing.to_svg(FONTS).encode(), _WIDE - 13 * block.quote, title,
                           chart.description())

    def figure(self, name, content, width, caption, description):
        self.files[name] = content
        return {"kind": "figure", "file": name, "width": width, "caption": caption[:500],
                "alt": description or caption}

    def write_table(self, block):
        room = _WIDE - 13 * block.quote
        most = int(room // 22)
        # Columns that do not fit on a page are removed.
        if len(block.rows[0]) > most:
            self.task.note("cut")
            block.rows, block.aligns = [row[:most] for row in block.rows], block.aligns[:most]
        size, widths = column_widths(block, room, (9.5, 8.5, 7.5, 6.5, 5.5), self.width, 12.5)
        rows = [[self.cell(runs, size, width - 12.5) for runs, width in zip(row, widths)] for row in block.rows]
        return {"kind": "table", "size": size, "widths": widths, "aligns": block.aligns, "rows": rows,
                "caption": block.text[:500], "is-whole": len(rows) <= 8 and _is_short(sum(block.rows, []))}

    def cell(self, runs, size, room):
        written = self.runs(runs, size, room)
        if NUMBER.fullmatch(plain([run for run in runs if isinstance(run, Run)]).strip()):
            for run in written:
                if "text" in run:
                    run["text"] = re.sub("(?<=.) (?=.)", "\u00a0", run["text"])
        return written


def _colors():
    return {"ink": house.INK, "soft-ink": house.SOFT_INK, "accent": house.ACCENT, "second": house.SECOND,
            "dark": house.DARK, "head": house.HEAD, "soft": house.SOFT, "lines": house.LINES, "link": house.LINK}


def _open_font(path):
    return ImageFont.truetype(path, 100) if path else ImageFont.load_default(100)


def _is_short(lines):
    """Returns true if lines of runs fit on a page, and are better together."""
    return sum(len(run.text) + 1 for runs in lines for run in runs) <= _MAX_WHOLE


def _shortened(title):
    return title if house.text_width(title) <= 90 else title[:45] + "…"


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
