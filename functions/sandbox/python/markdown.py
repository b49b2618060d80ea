"""Markdown as a flat list of blocks, the source of documents and slides."""

import re
from dataclasses import dataclass, field
from urllib.parse import unquote

import formula

# Maximum characters of a line and of a block; longer ones are split, because parsers and layouts take quadratic time.
MAX_LINE = 4_000
MAX_BLOCK = 4_000
# Maximum blocks, runs, cells and links of a document; more would exceed a job's time.
MAX_BLOCKS = 12_000
MAX_RUNS = 25_000
MAX_CELLS = 16_000
MAX_LINKS = 2_000
# Maximum distinguished levels of lists and quotes.
MAX_LEVEL = 8

_NOTE = re.compile(r"^\[\^([^\]\s]{1,60})\]:[ \t]*(.*)$")
_NOTE_MARK = re.compile(r"\[\^([^\]\s]{1,60})\]")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_LINK = re.compile(r"^(https?://|mailto:)", re.IGNORECASE)
# Lines must not be split before a table, a list, a quote or indented text.
_STRUCTURE = re.compile(r"\||^\s|^[-*+>]|^\d+[.)]")
_TASK = re.compile(r"^\[([ xX])\] ")
_CITATION = re.compile(r"\[(\d{1,3})\]")
# The beginning of a paragraph or quote with the notes of a speaker.
SPEAKER_NOTES = re.compile(r"^\s*(speaker notes|notes|备注|演讲者备注|演讲备注)\s*[:：]\s*", re.IGNORECASE)
# The heading of the list of sources.
SOURCES = re.compile(r"^(\d+[.、]?\s*)?(sources|references|bibliography|来源|资料来源|信息来源|数据来源|参考资料|参考文献|引用来源)[:：]?$", re.IGNORECASE)
# A formula or a script within a line; the letter after a dollar tells prices from formulas.
_INLINE = {"$": re.compile(r"\$(?!\s)([^$\n]{1,500}?)(?<![\s\\])\$(?!\d)"), "\\": re.compile(r"\\\((.{1,500}?)\\\)", re.DOTALL),
           "^": re.compile(r"\^([^\s^]{1,60})\^"), "~": re.compile(r"(?<!~)~([^\s~]{1,60})~(?!~)")}
_INLINE_KINDS = {"$": "formula", "\\": "formula", "^": "sup", "~": "sub"}
_FORMULA = re.compile(r"^(\$\$|\\\[)(.*?)(\$\$|\\\])?\s*$")


@dataclass
class Run:
    """Text with the same formatting.

    `link` is an address, `#` and the `anchor` of a block, or empty; `note` is the number of a note or 0, and `script`
    is `sub`, `sup` or empty. `formula` is the node of the formula whose part the text is.
    """

    text: str
    bold: bool = False
    italic: bool = False
    code: bool = False
    strike: bool = False
    link: str = ""
    note: int = 0
    script: str = ""
    formula: tuple | None = None


@dataclass
class Block:
    """A block of a document.

    `kind` is `heading` (`level` from 1), `text`, `item` (of a list; `level` from 0, `number` if numbered, `list_id`
    identifies the list, `name` is the box of a task), `code` (`text`, and `name` as the language), `formula` (`text`
    in LaTeX), `chart` (`text` in JSON), `table` (`rows` of cells of runs, the first row is the header, and `aligns`; `text` is the caption),
    `picture` (`name`, and `text` as the description), `rule`; `chart` and `drawing` are set later. For other kinds, `level` is the level of the enclosing
    list, from 1; `quote` is the number of enclosing quotes.
    """

    kind: str
    runs: list = field(default_factory=list)
    level: int = 0
    quote: int = 0
    number: int | None = None
    list_id: int = 0
    text: str = ""
    name: str = ""
    rows: list = field(default_factory=list)
    aligns: list = field(default_factory=list)
    anchor: str = ""
    chart: object = None
    drawing: object = None

    def plain(self):
        """Returns the text without formatting."""
        return "".join(run.text for run in self.runs) or self.text


def plain(runs):
    """Returns the text of runs."""
    return "".join(run.text for run in runs)


def parse(text):
    """Returns the blocks of a text, its notes (lists of runs, in the order of their numbers), and true if the text
    was cut."""
    body, notes = _part_notes(text)
    parser = _parser()
    reader = _Reader(notes)
    reader.read(parser.parse(body))
    told = [_runs(parser.parseInline(notes.texts[key])[0].children or [], None) for key in notes.order]
    blocks, is_cut = _cut(reader.blocks)
    _link_citations(blocks, told)
    return blocks, told, is_cut


def _parser():
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import state_inline

    # Between Chinese characters, signs of emphasis have no blanks around them.
    is_mark = state_inline.isPunctChar
    state_inline.isPunctChar = lambda letter: letter < "\u2010" and is_mark(letter)
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 60}).enable(["table", "strikethrough"])
    parser.block.ruler.before("fence", "formula", _read_formula, {"alt": ["paragraph"]})
    parser.inline.ruler.before("escape", "formula", _read_inline)
    return parser


def _read_formula(state, first, end, is_silent):
    """Reads a formula in lines of its own, between `$$` or between brackets with a backslash."""
    found = _FORMULA.match(state.getLines(first, first + 1, state.blkIndent, False).strip())
    if not found or (found[3] and not found[2].strip()):
        return False
    last, lines = first, [found[2]]
    while not found[3] and last - first < 40:
        last += 1
        if last >= end or not (line := state.getLines(last, last + 1, state.blkIndent, False).strip()):
            return False
        if line.endswith(("$$", "\\]")):
            lines.append(line[:-2])
            break
        lines.append(line)
    if not is_silent:
        state.push("formula", "", 0).content = " ".join(lines).strip()
        state.line = last + 1
    return True


def _read_inline(state, is_silent):
    """Reads a formula or a script within a line."""
    sign = state.src[state.pos]
    found = sign in _INLINE and _INLINE[sign].match(state.src, state.pos, state.posMax)
    if not found:
        return False
    if not is_silent:
        state.push(_INLINE_KINDS[sign], "", 0).content = found[1]
    state.pos = found.end()
    return True


def _link_citations(blocks, notes):
    """Links `[n]` to the item `n` of the list of sources."""
    heading = next((place for place in range(len(blocks) - 1, -1, -1) if blocks[place].kind == "heading"
                    and SOURCES.match(blocks[place].plain().strip())), None)
    if heading is None:
        return
    sources = {}
    for block in blocks[heading + 1:]:
        written = _CITATION.match(block.plain()) if block.kind in ("item", "text") else None
        number = int(written[1]) if written else block.number if block.kind == "item" and not block.level else None
        if number is not None:
            sources.setdefault(number, block)
    for number, block in sources.items():
        block.anchor = f"source-{number}"
    lines = [block.runs for block in blocks[:heading]] + notes
    lines += [cell for block in blocks[:heading] for row in block.rows for cell in row]
    for runs in lines:
        linked = []
        for run in runs:
            at = 0
            for mark in _CITATION.finditer(run.text) if isinstance(run, Run) and not run.link and not run.code else ():
                if int(mark[1]) in sources:
                    linked += [Run(**{**vars(run), "text": run.text[at:mark.start()]}),
                               Run(**{**vars(run), "text": mark[0], "link": f"#source-{mark[1]}"})]
                    at = mark.end()
            linked.append(Run(**{**vars(run), "text": run.text[at:]}) if at else run)
        runs[:] = [run for run in linked if not isinstance(run, Run) or run.text]


def _cut(blocks):
    """Returns the allowed blocks, and true if blocks were cut; surplus links become text."""
    runs, cells, links = MAX_RUNS, MAX_CELLS, MAX_LINKS
    for number, block in enumerate(blocks):
        if number == MAX_BLOCKS or runs <= 0:
            return blocks[:number], True
        if block.kind == "table":
            rows = block.rows[:max(1, cells // max(1, len(block.rows[0])))]
            cells -= len(rows) * len(block.rows[0])
            if len(rows) < len(block.rows):
                block.rows = rows
                return blocks[:number + 1], True
        for run in [*block.runs, *(run for row in block.rows for cell in row for run in cell)]:
            runs -= 1
            if isinstance(run, Run) and run.link:
                links -= 1
                run.link = run.link if links >= 0 else ""
    return blocks, False


class _Notes:
    """Notes (`[^key]: text`), numbered in the order of their references."""

    def __init__(self):
        self.texts, self.order = {}, []

    def number(self, key):
        if key not in self.texts:
            return 0
        if key not in self.order:
            self.order.append(key)
        return self.order.index(key) + 1


def _part_notes(text):
    notes, kept, fence, last, size = _Notes(), [], "", None, 0
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        found = None if fence or mark else _NOTE.match(line)
        if found:
            last = found[1]
            notes.texts.setdefault(last, found[2])
        elif last is not None and line.startswith(("    ", "\t")) and line.strip():
            notes.texts[last] += " " + line.strip()
        else:
            last = last if not line.strip() else None
            size = size + len(line) if line.strip() else 0
            if size > MAX_LINE and not fence and not _STRUCTURE.search(line):
                kept.append("")
                size = 0
            kept += [line] if fence or len(line) <= MAX_LINE else _part_line(line)
    return "\n".join(kept), notes


def _part_line(line):
    parts = [line[at:at + MAX_LINE] for at in range(0, len(line), MAX_LINE)]
    return [part for pair in zip(parts, [""] * len(parts)) for part in pair]


class _Reader:
    """Reads the tokens of a text once."""

    def __init__(self, notes):
        self.blocks, self.notes = [], notes
        self.lists, self.quote, self.count = [], 0, 0
        self.item = None

    def read(self, tokens):
        table = None
        heading = 0
        for token in tokens:
            kind = token.type
            if kind in ("bullet_list_open", "ordered_list_open"):
                self.count += 1
                start = int(token.attrGet("start") or 1) if kind == "ordered_list_open" else None
                self.lists.append([self.count, start])
            elif kind in ("bullet_list_close", "ordered_list_close"):
                self.lists.pop()
            elif kind == "list_item_open":
                self.item = self._start_item()
            elif kind == "blockquote_open":
                self.quote += 1
            elif kind == "blockquote_close":
                self.quote -= 1
            elif kind == "heading_open":
                heading = int(token.tag[1])
            elif kind == "table_open":
                table = Block("table", **self._place())
            elif kind == "table_close":
                self.blocks.append(table)
                table = None
            elif kind == "tr_open":
                table.rows.append([])
            elif kind == "th_open":
                style = token.attrGet("style") or ""
                table.aligns.append(style.removeprefix("text-align:") or "left")
            elif kind == "inline" and table is not None:
                table.rows[-1].append(_runs(token.children, self.notes))
            elif kind == "inline":
                self._add_text(_runs(token.children, self.notes), heading)
                heading = 0
            elif kind == "formula" or token.info.strip() == "chart":
                self.blocks.append(Block("chart" if token.info else kind, text=token.content, **self._place()))
            elif kind in ("fence", "code_block"):
                self._add_code(token.content, token.info.split(maxsplit=1)[:1])
            elif kind == "hr":
                self.blocks.append(Block("rule"))

    def _start_item(self):
        number = self.lists[-1][1]
        if number is not None:
            self.lists[-1][1] += 1
        return Block("item", level=min(len(self.lists) - 1, MAX_LEVEL), quote=min(self.quote, MAX_LEVEL),
                     number=number, list_id=self.lists[-1][0])

    def _place(self):
        # An item without text at its beginning still shows its mark.
        if self.item is not None:
            self.blocks.append(self.item)
            self.item = None
        return {"level": min(len(self.lists), MAX_LEVEL), "quote": min(self.quote, MAX_LEVEL)}

    def _add_code(self, text, language):
        place = self._place()
        lines = [part for line in text.rstrip("\n").split("\n")
                 for part in [line[at:at + MAX_BLOCK] for at in range(0, len(line), MAX_BLOCK)] or [""]]
        for at in range(0, len(lines), 400):
            self.blocks.append(Block("code", text="\n".join(lines[at:at + 400]), name="".join(language)[:40], **place))

    def _add_text(self, runs, heading):
        """Splits text at images, which are separate blocks."""
        part = []
        for run in runs:
            if isinstance(run, Block):
                self._add_runs(part, heading)
                part = []
                self.blocks.append(Block("picture", name=run.name, text=run.text, **self._place()))
            else:
                part.append(run)
        self._add_runs(part, heading)

    def _add_runs(self, runs, heading):
        runs = [run for run in runs if run.text]
        if not plain(runs).strip():
            return
        if self.item is not None:
            item, self.item = self.item, None
            mark = _TASK.match(runs[0].text)
            if mark:
                runs[0].text, item.name = runs[0].text[4:], "☐" if mark[1] == " " else "☑"
            item.runs = runs
            self.blocks.append(item)
        elif heading and not self.quote:
            self.blocks.append(Block("heading", runs, level=heading))
        else:
            for part in _part_runs(runs):
                self.blocks.append(Block("text", part, **self._place()))


def _part_runs(runs):
    """Splits runs into parts of at most `MAX_BLOCK` letters; most texts are one part."""
    if sum(len(run.text) for run in runs) <= MAX_BLOCK:
        return [runs]
    parts, room = [[]], MAX_BLOCK
    for run in runs:
        rest = run.text
        while rest:
            head, rest = rest[:room], rest[room:]
            parts[-1].append(Run(**{**vars(run), "text": head}))
            room -= len(head)
            if not room:
                parts.append([])
                room = MAX_BLOCK
    return [part for part in parts if part]


_LOOKS = {"strong": "bold", "em": "italic", "s": "strike"}


def _runs(tokens, notes):
    """Returns the runs of a line, and a `picture` block for each image."""
    runs, looks, links = [], {"bold": 0, "italic": 0, "strike": 0}, []
    for token in tokens:
        kind = token.type
        name, _, way = kind.rpartition("_")
        if name in _LOOKS:
            looks[_LOOKS[name]] += 1 if way == "open" else -1
        elif kind == "link_open":
            address = token.attrGet("href") or ""
            links.append(address if _LINK.match(address) else "")
        elif kind == "link_close":
            links.pop()
        elif kind == "image":
            runs.append(Block("picture", name=unquote(token.attrGet("src") or ""), text=token.content))
        elif kind in ("softbreak", "hardbreak"):
            runs.append(Run("\n" if kind == "hardbreak" else " "))
        elif token.content:
            look = {key: value > 0 for key, value in looks.items()}
            link = links[-1] if links else ""
            if kind == "formula":
                node = formula.parse(token.content)
                for text, is_italic, script in formula.line(node):
                    runs.append(Run(text, **{**look, "italic": is_italic}, link=link, script=script, formula=node))
            elif kind in ("sub", "sup"):
                runs.append(Run(token.content, **look, link=link, script=kind))
            elif kind == "code_inline":
                runs.append(Run(token.content, code=True, link=link, **look))
            else:
                runs += _texts(_BREAK.sub("\n", token.content), look, link, notes)
    return _join_breaks(runs)


def _texts(text, look, link, notes):
    at = 0
    for mark in _NOTE_MARK.finditer(text) if notes else ():
        number = notes.number(mark[1])
        if number:
            yield Run(text[at:mark.start()], link=link, **look)
            yield Run(f"{number}", link=f"#note-{number}", note=number, script="sup")
            at = mark.end()
    yield Run(text[at:], link=link, **look)


def _join_breaks(runs):
    """Joins lines that break between two Chinese characters without a space."""
    for before, line, after in zip(runs, runs[1:], runs[2:]):
        if line == Run(" ") and all(isinstance(run, Run) and run.text for run in (before, after)):
            if before.text[-1] >= "\u2e80" and after.text[0] >= "\u2e80":
                line.text = ""
    return runs
