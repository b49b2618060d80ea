"""Word documents as Markdown: all visible text, with all tracked changes accepted."""

from drawings import FALLBACK, Skipped, read_drawing, table_text
from extract import Unreadable
from words import words

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_DELETED = (f"{_W}del", f"{_W}moveFrom")
_TEXTS = (f"{_W}t", f"{_M}t")
_SIGNS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_REFERENCES = (f"{_W}footnoteReference", f"{_W}endnoteReference")
# Phonetic guides, and fallback content for old versions of Word.
_BESIDE = (f"{_W}rt", FALLBACK)


def read_docx(path, language):
    """Returns `(text, notes)`: the text of a document with headers, footers, notes and comments. Raises `Unreadable`.
    """
    import docx

    try:
        reader = _Reader(docx.Document(path), language)
        return reader.read(), reader.skipped.notes()
    except Exception as error:
        raise Unreadable("broken") from error


class _Reader:
    def __init__(self, document, language):
        self.document, self.language, self.skipped = document, language, Skipped()
        self.styles = {style.style_id: style.name or "" for style in document.styles}

    def read(self):
        body = self.blocks(self.document.element.body, self.document.part)
        parts = [self.part_lines("header"), body, self.part_lines("footer"), self.notes("footnote"),
                 self.notes("endnote"), self.comments()]
        return "\n\n".join(block for blocks in parts for block in blocks if block)

    def part_lines(self, kind):
        """Returns the lines of all headers, or footers, without repeats."""
        lines = {}
        for part, element in self.related(kind):
            text = " ".join(block for block in self.blocks(element, part) if block)
            lines |= {words(self.language, kind, text=text): None} if text else {}
        return lines

    def notes(self, kind):
        """Returns footnotes or endnotes, without the separators, which have a type."""
        return [f"[^{note.get(f'{_W}id')}]: " + " ".join(self.blocks(note, part))
                for part, element in self.related(f"{kind}s")
                for note in element.iter(f"{_W}{kind}") if note.get(f"{_W}type") is None]

    def comments(self):
        return [words(self.language, "comment", text=" ".join(self.blocks(comment, part)))
                for part, element in self.related("comments") for comment in element.iter(f"{_W}comment")]

    def related(self, kind):
        """Returns the parts of this kind with their elements."""
        from lxml import etree

        parser = etree.XMLParser(resolve_entities=False, no_network=True)
        relations = [relation for relation in self.document.part.rels.values() if not relation.is_external]
        return [(relation.target_part, etree.fromstring(relation.target_part.blob, parser))
                for relation in relations if relation.reltype.endswith(f"/{kind}")]

    def blocks(self, container, part):
        """Returns the paragraphs and tables of an element as texts."""
        blocks = []
        for element in container:
            if element.tag in _DELETED:
                self.skipped.has_deletions = True
            elif element.tag == f"{_W}p":
                blocks += self.paragraph(element, part)
            elif element.tag == f"{_W}tbl":
                blocks.append(table_text(self.rows(element, part)))
            elif element.tag not in _BESIDE:
                # Wrappers of blocks: content controls, insertions, tags.
                read_drawing(element, part, self.skipped)
                blocks += self.blocks(element, part)
        return [block for block in blocks if block]

    def paragraph(self, element, part):
        """Returns a paragraph, followed by the text of its drawings."""
        pieces, drawn = [], []
        self.collect(element, part, pieces, drawn)
        text = "".join(pieces).strip()
        return [self.styled(element, text), *drawn] if text else drawn

    def collect(self, container, part, pieces, drawn):
        for element in container:
            tag = element.tag
            if tag in _DELETED:
                self.skipped.has_deletions = True
            elif tag == f"{_W}txbxContent":
                drawn += self.blocks(element, part)
            elif tag in _TEXTS:
                pieces.append(element.text or "")
            elif tag in _SIGNS:
                pieces.append(_SIGNS[tag])
            elif tag in _REFERENCES:
                pieces.append(f"[^{element.get(f'{_W}id')}]")
            elif tag not in _BESIDE and tag != f"{_W}pPr":
                drawn += read_drawing(element, part, self.skipped)
                self.collect(element, part, pieces, drawn)

    def styled(self, element, text):
        style = element.find(f"{_W}pPr/{_W}pStyle")
        style = "" if style is None else self.styles.get(style.get(f"{_W}val"), "")
        if style.startswith("Heading"):
            level = "".join(letter for letter in style if letter.isdigit()) or "1"
            return f"{'#' * min(int(level), 6)} {text}"
        if style == "Title":
            return f"# {text}"
        is_listed = style.startswith("List") or element.find(f"{_W}pPr/{_W}numPr") is not None
        return f"- {text}" if is_listed else text

    def rows(self, table, part):
        rows = []
        for row in self.wrapped(table, f"{_W}tr"):
            if row.find(f"{_W}trPr/{_W}del") is not None:
                self.skipped.has_deletions = True
                continue
            cells = []
            for cell in self.wrapped(row, f"{_W}tc"):
                span = cell.find(f"{_W}tcPr/{_W}gridSpan")
                width = 1 if span is None else int(span.get(f"{_W}val", 1))
                cells += [self.cell(cell, part)] + [""] * (min(width, 100) - 1)
            rows.append(cells)
        return rows

    def wrapped(self, container, tag):
        """Returns the rows or cells of an element, including content controls."""
        for element in container:
            if element.tag == tag:
                yield element
            elif element.tag not in (f"{_W}tbl", f"{_W}p", *_DELETED):
                yield from self.wrapped(element, tag)

    def cell(self, cell, part):
        """Returns a cell as one line, including nested tables."""
        texts = []
        for element in cell:
            if element.tag == f"{_W}tbl":
                texts += ["; ".join(" ".join(row).strip() for row in self.rows(element, part))]
            else:
                texts += self.blocks([element], part)
        return " ".join(text for text in texts if text)
