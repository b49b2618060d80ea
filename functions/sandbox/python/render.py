"""Documents from model-written text: pages, slides, Word, PowerPoint and PDF."""

import collections
import datetime
import importlib
import io
import os
import re
import unicodedata
import zipfile

import house
from chart import BadChart, read_chart
from formula_drawing import draw_formula
from markdown import Block, parse
from pictures import BadPicture, fit_picture
from typesetting import name_scripts

# Maximum bytes of a text, and of a document.
MAX_TEXT = 2 * 1024 * 1024
MAX_DOCUMENT = 20 * 1024 * 1024
# Maximum bytes of all images of a document; as text in a page, images take a third more.
MAX_PICTURES = 12 * 1024 * 1024
# Maximum pixels per edge, and bytes, of an image in a document.
MAX_EDGE = 2_000
MAX_PICTURE = 2 * 1024 * 1024
# Maximum pixels per edge, and bytes, of a logo.
MAX_LOGO_EDGE, MAX_LOGO = 600, 512 * 1024
# Maximum reported names of missing images.
MAX_MISSING = 50

# Captions of figures and tables as authors write and number them.
_FIGURE = re.compile(r"^\s*(?:figure|fig\.|图)\s*\d+\s*[:：.．、]?\s*(?=\S)", re.IGNORECASE)
_TABLE = re.compile(r"^(?:table|表格?)\s*\d*\s*[:：.．、]\s*(\S.{0,200})$", re.IGNORECASE)

# Letters of a page that are no text.
_MARKUP = re.compile("<style[^<]*</style>|<[^<>]{0,2000}>")
# Characters that XML cannot contain.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


class Unrenderable(Exception):
    """A text that cannot become a document. The message is the reason: `too_large`, `empty`."""


class Task:
    """A rendering job and its findings.

    `text` and `title` come from the request; `language` is the language of the text (`en`, `zh`), and `model_language`
    the language for reports to the model; `is_rtl` is true for a text from right to left, and `is_deck` for slides in
    HTML; `fonts` are paths of fonts for formats without fonts of their own; `missing` and `notes` are reported.
    """

    def __init__(self, text, title, language, fonts, own_name):
        self.text, self.title, self.fonts = text, title, fonts
        words = _MARKUP.sub(" ", text)[:20_000]
        self.language, self.model_language = language_of(words, language), language
        self.is_rtl, self.is_deck = is_right_to_left(words), False
        self.missing, self.notes = [], []
        self._own_name, self._room, self._known = own_name, MAX_PICTURES, {}

    def picture(self, name, again=False):
        """Returns the image of this name, or None, and records a missing image. With `again`, each use counts toward
        the limit."""
        file = _file_name(name)
        if file not in self._known or again:
            try:
                if not file or file == self._own_name or not os.path.isfile(file):
                    raise BadPicture("no_image")
                picture = self._known.get(file) or fit_picture(file, MAX_EDGE, MAX_PICTURE)
                if len(picture.content) > self._room:
                    raise BadPicture("too_large")
                self._room -= len(picture.content)
                self._known[file] = picture
            except BadPicture:
                self._known[file] = None
        if self._known[file] is None:
            self.tell_missing(name)
        return self._known[file]

    def drawing(self, name):
        """Returns the bytes of the SVG file of this name, or None, and records a missing image. As an image, SVG
        loads and runs nothing."""
        file = _file_name(name)
        if file and file != self._own_name and os.path.isfile(file):
            with open(file, "rb") as opened:
                content = opened.read(MAX_PICTURE + 1)
            if b"<svg" in content[:4096] and len(content) <= min(MAX_PICTURE, self._room):
                self._room -= len(content)
                return content
        self.tell_missing(name)
        return None

    def logo(self):
        """Returns the image of the deployment's logo, or None."""
        try:
            picture = fit_picture(house.LOGO, MAX_LOGO_EDGE, MAX_LOGO) if house.LOGO else None
            if picture and picture.format not in ("PNG", "JPEG"):
                raise BadPicture("no_image")
            return picture
        except BadPicture as error:
            self.note(f"theme: logo: {error}")
            return None

    def chart(self, text):
        """Returns the chart of a block, or None, and records the reason."""
        try:
            chart = read_chart(text, self.model_language)
        except BadChart as error:
            self.note(f"chart: {error}")
            return None
        chart.language = self.language
        return chart

    def tell_missing(self, name):
        """Records an image that cannot be shown."""
        shown = name[:200]
        if shown not in self.missing and len(self.missing) < MAX_MISSING:
            self.missing.append(shown)

    def note(self, word):
        """Records removed content."""
        if word not in self.notes:
            self.notes.append(word)


def language_of(text, default):
    """Returns the language of a text (`en`, `zh`): the default for texts without letters."""
    letters = sum(1 for letter in text if letter.isalpha() and letter < "\u2e80")
    chinese = sum(1 for letter in text if "\u4e00" <= letter <= "\u9fff")
    # A Chinese character counts as a word, and data, links and code are in Latin letters everywhere.
    return default if letters + chinese < 20 else "zh" if chinese * 5 > letters else "en"


def is_right_to_left(text):
    """Returns true for a text in a script such as Arabic; data, links and code are in Latin letters everywhere."""
    ways = collections.Counter(map(unicodedata.bidirectional, text))
    return (ways["R"] + ways["AL"]) * 2 > ways["L"]


def _file_name(name):
    """Returns the name of a file in the current folder, if the address can be one."""
    name = name.split("?")[0].split("#")[0]
    name = name[2:] if name.startswith("./") else name
    return "" if "/" in name or name in ("", ".", "..") or "\0" in name else name


def render(format, name, text, title, language, fonts):
    """Creates the document `name` in the current folder.

    Returns `{"problem", "missing_images", "notes"}`. `problem` is the reason for a missing document (`too_large`,
    `empty`, `broken`), or empty. `notes` are words: `scripts` and `addresses` that were removed, `cut` if the
    text was too long, `letters: SCRIPT, …` for scripts that no font has, and `theme: FILE: REASON` for a file of the
    deployment's theme that was not used.
    """
    task = Task(_CONTROLS.sub("", text), _CONTROLS.sub("", title).strip()[:300], language, fonts, name)
    try:
        if len(text.encode(errors="replace")) > MAX_TEXT:
            raise Unrenderable("too_large")
        if not text.strip():
            raise Unrenderable("empty")
        content = _make(format, task)
        if len(content) > MAX_DOCUMENT:
            raise Unrenderable("too_large")
    except Unrenderable as error:
        return _told(task, f"{error}")
    except MemoryError:
        return _told(task, "too_large")
    except Exception as error:  # Reports any exception of a library as a problem.
        # Visible in the output of the job.
        print(f"{type(error).__name__}: {error}"[:500])
        return _told(task, "broken")
    with open(name, "wb") as file:
        file.write(content)
    return _told(task, "")


def _told(task, problem):
    return {"problem": problem, "missing_images": task.missing, "notes": task.notes}


def _make(format, task):
    # The module of a format imports this one.
    make = importlib.import_module("render_deck" if format == "ppt" else f"render_{format}").render
    if format in ("html", "ppt"):
        return make(task)
    if format == "pdf":
        task.text, scripts = name_scripts(task.text)
        task.title, title_scripts = name_scripts(task.title)
        if scripts or title_scripts:
            task.note(f"letters: {', '.join(sorted({*scripts, *title_scripts}))}")
    blocks, notes = read_blocks(task, _without_fence(task.text))
    if not blocks:
        raise Unrenderable("empty")
    task.title = task.title or first_heading(blocks)
    take_captions(blocks, format != "pptx")
    return make(task, blocks, notes)


def read_blocks(task, text):
    """Returns the blocks of a Markdown text, with checked charts, and its notes."""
    blocks, notes, is_cut = parse(text)
    if is_cut:
        task.note("cut")
    for block in blocks:
        if block.kind == "chart":
            block.chart = task.chart(block.text)
            block.kind = "chart" if block.chart else "code"
        elif block.kind == "formula":
            block.drawing = draw_formula(block.text, task.fonts)
            block.kind = "formula" if block.drawing else "code"
    # A line before a heading parts nothing more.
    after = [*blocks[1:], Block("heading")]
    return [block for block, next_block in zip(blocks, after) if block.kind != "rule" or next_block.kind not in
            ("heading", "rule")], notes


def take_captions(blocks, of_tables):
    """Removes the numbers that authors give figures, and with `of_tables` makes a line such as "Table 1: Sales" above a
    table its caption."""
    for block in blocks:
        if block.kind == "picture":
            block.text = _FIGURE.sub("", block.text)
        elif block.kind == "chart":
            block.chart.title = _FIGURE.sub("", block.chart.title)
    for place in range(len(blocks) - 1, 0, -1):
        line = blocks[place - 1]
        found = _TABLE.match(line.plain().strip()) if line.kind == "text" else None
        if of_tables and blocks[place].kind == "table" and found:
            blocks[place].text = found[1]
            del blocks[place - 1]


def _without_fence(text):
    """Removes a fence around the whole document, which models often add."""
    found = re.fullmatch(r"\s*```(?:markdown|md)[ \t]*\n(.*?)(?:\n```\s*)?", text, re.DOTALL)
    return found[1] if found else text


def first_heading(blocks):
    """Returns the text of the first heading, if any."""
    return next((block.plain().strip()[:300] for block in blocks if block.kind == "heading"), "")


def zip_anew(content):
    """Returns the archive of an Office document without creation times, so that the same document has the same bytes.
    """
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.infolist():
            fixed = zipfile.ZipInfo(member.filename, (2000, 1, 1, 0, 0, 0))
            fixed.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(fixed, old.read(member))
    return written.getvalue()


def set_properties(properties, task):
    """Sets title, language and fixed dates of an Office document."""
    properties.title, properties.author, properties.comments = task.title[:250], "", ""
    properties.language = "zh-CN" if task.language == "zh" else "en-US"
    properties.created = properties.modified = datetime.datetime(2000, 1, 1)
    properties.last_modified_by = ""
    properties.revision = 1
