"""Text documents and slides of Office as Markdown."""

from extract import Unreadable
from words import words


def read_docx(path):
    """The text of a document, its tables and notes; `(text, notes)`. Raises `Unreadable`."""
    import docx

    try:
        document = docx.Document(path)
        blocks = [_block(block) for block in document.iter_inner_content()]
    except Exception as error:
        raise Unreadable("broken") from error
    return "\n\n".join(block for block in blocks if block), []


def _block(block):
    if hasattr(block, "rows"):
        return _table([[cell.text for cell in row.cells] for row in block.rows])
    text = block.text.strip()
    style = (block.style.name or "") if block.style is not None else ""
    if text and style.startswith("Heading"):
        level = "".join(letter for letter in style if letter.isdigit()) or "1"
        return f"{'#' * min(int(level), 6)} {text}"
    if text and style == "Title":
        return f"# {text}"
    if text and style.startswith("List"):
        return f"- {text}"
    return text


def _table(rows):
    if not rows:
        return ""
    lines = [[cell.strip().replace("\n", " ").replace("|", "\\|") for cell in row] for row in rows]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join("| " + " | ".join(row) + " |" for row in lines)


def read_pptx(path, language):
    """The text of slides with their tables and speaker notes; `(text, notes)`. Raises `Unreadable`."""
    import pptx

    try:
        slides = pptx.Presentation(path).slides
        parts = [_slide(number, slide, language) for number, slide in enumerate(slides, 1)]
    except Exception as error:
        raise Unreadable("broken") from error
    return "\n\n".join(parts), []


def _slide(number, slide, language):
    parts = ["## " + words(language, "slide", number=number)]
    for shape in slide.shapes:
        if shape.has_text_frame and shape.text_frame.text.strip():
            parts.append(shape.text_frame.text.strip())
        if getattr(shape, "has_table", False) and shape.has_table:
            parts.append(_table([[cell.text for cell in row.cells] for row in shape.table.rows]))
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text.strip()
        if notes:
            parts.append(words(language, "notes_text", text=notes))
    return "\n\n".join(parts)
