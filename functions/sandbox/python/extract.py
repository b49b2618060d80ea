"""Documents as text, part by part. Nothing of a document is ever run, and nothing outside it is read."""

import codecs
import csv
import zipfile

from words import words

# What a document that is an archive may unpack to, before anything of it is read.
MAX_RATIO = 200
MAX_UNPACKED = 200 * 1024 * 1024
MAX_MEMBERS = 10_000
# Bytes of a text that are read.
MAX_TEXT_BYTES = 64 * 1024 * 1024
# Characters of all of a document.
MAX_CHARACTERS = 5_000_000
# Pages of a PDF that one call reads.
MAX_PAGES = 200
# Lines whose fields are counted to find the separator.
SAMPLE_LINES = 200

_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
_IMAGES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"BM")
_OFFICE = {"xl/workbook.xml": "xlsx", "word/document.xml": "docx", "ppt/presentation.xml": "pptx"}


class Unreadable(Exception):
    """A document that cannot be read; its text is a word that says why: `encrypted`, `too_large`, `broken`,
    `no_document` (an archive), `no_text`."""


def extract(path, name, offset, limit, language):
    """The characters of a document from `offset` on, `limit` at most; its marks are words of `language`.

    Returns `{"text", "total_chars", "next_offset", "notes"}`: `total_chars` is None where only a part of the
    document was read, `next_offset` None at its end; `notes` are words: `macros` and `links` that were not
    followed, `pictures` where pages have no text, `cut` where its end cannot be read. Raises `Unreadable`.
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
    """`xlsx`, `docx`, `pptx`, `pdf`, `image`, `csv` or `text`, by the content before the name."""
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
    """The names of an archive's members, once it is sure that it does not blow up. Raises `Unreadable`."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            _check_sizes(members)
            _check_truth(archive, members)
            return [member.filename for member in members]
    except (zipfile.BadZipFile, OSError, EOFError, ValueError, NotImplementedError) as error:
        raise Unreadable("broken") from error
    except RuntimeError as error:
        raise Unreadable("encrypted") from error


def _check_sizes(members):
    unpacked = sum(member.file_size for member in members)
    packed = sum(member.compress_size for member in members)
    if len(members) > MAX_MEMBERS or unpacked > MAX_UNPACKED or unpacked > MAX_RATIO * max(packed, 1):
        raise Unreadable("too_large")


def _check_truth(archive, members):
    """Unpacks each member once without keeping it: what a header says of its size may be a lie."""
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
    """The text of a file and its encoding. Raises `Unreadable` for what is no text."""
    with open(path, "rb") as file:
        content = file.read(MAX_TEXT_BYTES + 1)
    if len(content) > MAX_TEXT_BYTES:
        content = content[:MAX_TEXT_BYTES]
    encoding = _encoding_of(content)
    if encoding is None:
        raise Unreadable("no_text")
    return content.decode(encoding, errors="replace"), encoding


def _encoding_of(content):
    for mark, encoding in ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"),
                           (codecs.BOM_UTF16_BE, "utf-16")):
        if content.startswith(mark):
            return encoding
    sample = content[:65536]
    if b"\0" in sample:
        return _utf16_without_mark(sample)
    try:
        # A last character may be cut.
        codecs.getincrementaldecoder("utf-8")().decode(content)
        return "utf-8"
    except UnicodeDecodeError:
        pass
    return "gb18030" if _looks_chinese(sample) else "cp1252" if _is_cp1252(sample) else "latin-1"


def _utf16_without_mark(sample):
    """Latin text in UTF-16 has a zero in every other place."""
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if odd > len(sample) // 8 and even * 10 < odd:
        return "utf-16-le"
    if even > len(sample) // 8 and odd * 10 < even:
        return "utf-16-be"
    return None


def _looks_chinese(sample):
    try:
        text = codecs.getincrementaldecoder("gb18030")().decode(sample)
    except UnicodeDecodeError:
        return False
    foreign = [letter for letter in text if letter > "\x7f"]
    common = [letter for letter in foreign if "\u4e00" <= letter <= "\u9fff" or letter in "，。、：；（）《》“”"]
    return len(common) * 10 >= len(foreign) * 9


def _is_cp1252(sample):
    return not any(byte in sample for byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D))


class CsvForm:
    """How a CSV is written: `encoding`, `separator`, `lines` that are not empty, `ragged` ones among the first."""

    def __init__(self, path):
        text, self.encoding = decode(path)
        lines = text.splitlines()
        sample = [line for line in lines[:SAMPLE_LINES] if line.strip()]
        self.separator = max(",;\t|", key=lambda mark: _regularity(sample, mark))
        widths = [len(row) for row in csv.reader(sample, delimiter=self.separator)]
        self.ragged = sum(1 for width in widths if width != widths[0]) if widths else 0
        self.lines = sum(1 for line in lines if line.strip())


def _regularity(sample, mark):
    """How well a mark separates: fields of the first line, if most lines have as many."""
    widths = [len(row) for row in csv.reader(sample, delimiter=mark)]
    if not widths or widths[0] == 1:
        return 0
    return widths[0] * sum(1 for width in widths if width == widths[0]) / len(widths)


def _read_text(path, _):
    return decode(path)[0], []


# Documents of Office


def _read_workbook(path, language):
    from python_calamine import CalamineWorkbook

    names = check_archive(path)
    notes = []
    if any(name.endswith("vbaProject.bin") for name in names):
        notes.append("macros")
    if any(name.startswith("xl/externalLinks/") for name in names):
        notes.append("links")
    parts = []
    try:
        workbook = CalamineWorkbook.from_path(path)
        for sheet in workbook.sheet_names:
            rows = workbook.get_sheet_by_name(sheet).to_python(skip_empty_area=True)
            width = max((len(row) for row in rows), default=0)
            about = words(language, "sheet_size", name=sheet, rows=len(rows), columns=width)
            parts.append(f"## {about}\n")
            parts += ["\t".join(f"{cell}" for cell in row) for row in rows]
            parts.append("")
    except Exception as error:
        raise Unreadable("broken") from error
    return "\n".join(parts), notes


def _read_docx(path, _):
    from extract_office import read_docx

    return read_docx(path)


def _read_pptx(path, language):
    from extract_office import read_pptx

    return read_pptx(path, language)


# PDF


def _extract_pdf(path, offset, limit, language):
    """Pages from the first on, until enough characters are read; a long document is never read whole."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        raise Unreadable("encrypted" if "password" in f"{error}".lower() else "broken") from error
    pages = len(document)
    text, read, has_text = "", 0, False
    for number in range(min(pages, MAX_PAGES)):
        page = document[number]
        shown = page.get_textpage().get_text_bounded()
        has_text = has_text or bool(shown.strip())
        text += f"## {words(language, 'page', number=number + 1, pages=pages)}\n\n{shown}\n\n"
        page.close()
        read = number + 1
        if len(text) > offset + limit:
            break
    part = _part(text, offset, limit, [])
    if read < pages:
        part["total_chars"] = None
        part["next_offset"] = part["next_offset"] or (len(text) if read < MAX_PAGES else None)
        if read == MAX_PAGES and part["next_offset"] is None:
            part["notes"].append("cut")
    if not has_text:
        part["notes"].append("pictures")
    return part


_READERS = {"xlsx": _read_workbook, "docx": _read_docx, "pptx": _read_pptx, "csv": _read_text, "text": _read_text}
