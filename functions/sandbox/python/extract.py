"""Documents as text, part by part. Nothing in a document is run, and nothing outside of it is read."""

import lzma
import zipfile
import zlib

from text_encoding import read_text
from words import words

# Maximum unpacked size of an archived document, checked before reading.
MAX_RATIO = 200
MAX_UNPACKED = 200 * 1024 * 1024
MAX_MEMBERS = 10_000
# Maximum characters of a document.
MAX_CHARACTERS = 5_000_000
# Maximum cells of a sheet.
MAX_CELLS = 1_000_000

_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
_IMAGES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"BM")
_OFFICE = {"xl/workbook.xml": "xlsx", "word/document.xml": "docx", "ppt/presentation.xml": "pptx"}


class Unreadable(Exception):
    """A document that cannot be read. The message is the reason: `encrypted`, `too_large`, `broken`, `no_document`
    (an archive), `no_text`."""


def extract(path, name, offset, limit, language):
    """Returns at most `limit` characters of a document from `offset` on; labels are in `language`.

    Returns `{"text", "total_chars", "next_offset", "notes"}`. `total_chars` is None if only a part of the document
    was read, and `next_offset` is None at the end. `notes` are words: `macros` and `links` that were not followed,
    `pictures` for pages without text, `cut` for an unreadable end, and others that `port/sandbox.rs` lists. Raises
    `Unreadable`.
    """
    kind = kind_of(path, name)
    if kind == "pdf":
        return _extract_pdf(path, offset, limit, language)
    text, notes = _READERS.get(kind, _refuse)(path, language)
    if len(text) > MAX_CHARACTERS:
        text = text[:MAX_CHARACTERS]
        notes.append("cut")
    return _part(text, offset, limit, notes)


def kind_of(path, name):
    """Returns `xlsx`, `docx`, `pptx`, `pdf`, `image`, `csv` or `text`, by the content first and the name second."""
    with open(path, "rb") as file:
        start = file.read(1024)
    if start.startswith(b"%PDF") or b"%PDF-" in start:
        return "pdf"
    if start.startswith(_OLE):
        raise Unreadable("encrypted")
    if start.startswith(_IMAGES) or start[8:12] == b"WEBP":
        return "image"
    if start.startswith(b"PK"):
        return _office_kind(path)
    return "csv" if name.lower().endswith((".csv", ".tsv")) else "text"


def _office_kind(path):
    names = set(check_archive(path))
    for member, kind in _OFFICE.items():
        if member in names:
            return kind
    raise Unreadable("no_document")


def check_archive(path):
    """Returns the names of an archive's members after checking its unpacked size. Raises `Unreadable`."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            _check_sizes(members)
            _check_truth(archive, members)
            return [member.filename for member in members]
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError, ValueError, NotImplementedError) as error:
        raise Unreadable("broken") from error
    except RuntimeError as error:
        raise Unreadable("encrypted") from error


def _check_sizes(members):
    unpacked = sum(member.file_size for member in members)
    packed = sum(member.compress_size for member in members)
    if len(members) > MAX_MEMBERS or unpacked > MAX_UNPACKED or unpacked > MAX_RATIO * max(packed, 1):
        raise Unreadable("too_large")


def _check_truth(archive, members):
    """Unpacks each member once without storing it, because the size in a header may be false."""
    total = 0
    for member in members:
        if member.flag_bits & 1:
            raise Unreadable("encrypted")
        read = 0
        with archive.open(member) as file:
            while part := file.read(1024 * 1024):
                read += len(part)
                total += len(part)
                if read > member.file_size or total > MAX_UNPACKED:
                    raise Unreadable("broken")


def _part(text, offset, limit, notes):
    end = offset + limit
    return {"text": text[offset:end], "total_chars": len(text),
            "next_offset": end if end < len(text) else None, "notes": notes}


def _refuse(_, __):
    raise Unreadable("no_text")


# Texts


def decode(path):
    """Returns the text of a file and its `text_encoding.TextEncoding`. Raises `Unreadable` for other files."""
    text, encoding = read_text(path)
    if encoding is None:
        raise Unreadable("no_text")
    return text, encoding


def _read_text(path, _):
    text, encoding = decode(path)
    return text, encoding.notes()


# Office documents


def workbook_notes(path):
    """Returns notes of `extract` about unread parts of a workbook."""
    names = check_archive(path)
    notes = ["macros"] if any(name.endswith("vbaProject.bin") for name in names) else []
    notes += ["links"] if any(name.startswith("xl/externalLinks/") for name in names) else []
    for note, start in (("images", "xl/media/"), ("objects", "xl/embeddings/"), ("charts", "xl/charts/chart"),
                        ("comments", "xl/comments")):
        count = sum(name.startswith(start) for name in names)
        notes += [f"{note}:{count}"] if count else []
    return notes


def _read_workbook(path, language):
    import workbook

    notes = workbook_notes(path)
    parts, unsolved = [], []
    try:
        for sheet in workbook.read_sheets(path):
            if sheet.kind != "table":
                parts.append(f"## {words(language, f'{sheet.kind}_sheet', name=sheet.name)}\n")
                continue
            cells = sheet.read(MAX_CELLS)
            unsolved += cells.facts.unsolved
            notes += ["cut"] if cells.is_cut and "cut" not in notes else []
            parts += _sheet_lines(sheet.name, cells, language)
    except Exception as error:
        raise Unreadable("broken") from error
    return "\n".join(parts), notes + (["formulas"] if unsolved else [])


def _sheet_lines(name, cells, language):
    from workbook import show_cell, shorten

    about = words(language, "sheet_size", name=name, rows=len(cells.rows), columns=len(cells.columns))
    lines = [f"## {about}\n"]
    facts = [("merged", cells.facts.merged), ("unsolved", cells.facts.unsolved), ("far", cells.far)]
    lines += [words(language, key, cells=shorten(names)) for key, names in facts if names]
    for _, row in cells.rows:
        lines.append("\t".join(show_cell(row[column]) if column in row else "" for column in cells.columns))
    return [*lines, ""]


def _read_docx(path, language):
    from extract_docx import read_docx

    return read_docx(path, language)


def _read_pptx(path, language):
    from extract_pptx import read_pptx

    return read_pptx(path, language)


# PDF


def _extract_pdf(path, offset, limit, language):
    from extract_pdf import read_pages

    text, is_whole, notes = read_pages(path, language, offset + limit)
    part = _part(text, offset, limit, notes)
    if not is_whole:
        part["total_chars"] = None
        part["next_offset"] = part["next_offset"] or (None if "cut" in notes else len(text))
    return part


_READERS = {"xlsx": _read_workbook, "docx": _read_docx, "pptx": _read_pptx, "csv": _read_text, "text": _read_text}
