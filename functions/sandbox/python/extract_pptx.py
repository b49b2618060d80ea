"""PowerPoint slides as Markdown, with all text at any level of grouping."""

from drawings import FALLBACK, Skipped, read_drawing, table_text
from extract import Unreadable
from words import words

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_TEXTS = (f"{_A}t", f"{_M}t")


def read_pptx(path, language):
    """Returns `(text, notes)`: the text of slides with tables, charts, diagrams, comments and notes.

    Raises `Unreadable`.
    """
    import pptx

    skipped = Skipped()
    try:
        slides = pptx.Presentation(path).slides
        parts = [_slide(number, slide, language, skipped) for number, slide in enumerate(slides, 1)]
    except Exception as error:
        raise Unreadable("broken") from error
    return "\n\n".join(parts), skipped.notes()


def _slide(number, slide, language, skipped):
    parts = ["## " + words(language, "slide", number=number)]
    parts += _blocks(slide.element, slide.part, skipped)
    parts += _comments(slide.part, language)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text.strip()
        if notes:
            parts.append(words(language, "notes_text", text=notes))
    return "\n\n".join(parts)


def _blocks(container, part, skipped):
    """Returns the texts, tables and drawings of an element, in order."""
    blocks = []
    for element in container:
        if element.tag == f"{_P}txBody":
            blocks.append("\n".join(_paragraph(paragraph) for paragraph in element.iter(f"{_A}p")).strip())
        elif element.tag == f"{_A}tbl":
            blocks.append(table_text([[_cell(cell) for cell in row.iter(f"{_A}tc")]
                                      for row in element.iter(f"{_A}tr")]))
        elif element.tag != FALLBACK:
            blocks += read_drawing(element, part, skipped)
            blocks += _blocks(element, part, skipped)
    return [block for block in blocks if block]


def _paragraph(paragraph):
    pieces = {f"{_A}br": "\n"}
    return "".join(pieces.get(element.tag) or element.text or ""
                   for element in paragraph.iter(*_TEXTS, f"{_A}br")).strip()


def _cell(cell):
    return " ".join(text for paragraph in cell.iter(f"{_A}p") if (text := _paragraph(paragraph)))


def _comments(part, language):
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    relations = [relation for relation in part.rels.values() if not relation.is_external]
    comments = []
    for relation in relations:
        if relation.reltype.endswith("/comments"):
            element = etree.fromstring(relation.target_part.blob, parser)
            texts = ["".join(text.itertext()).strip() for text in element.iter(f"{_P}text", f"{_A}p")]
            comments += [words(language, "comment", text=text) for text in texts if text]
    return comments
