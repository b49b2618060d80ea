"""PDF as text, page by page, with values of forms and annotations."""

import ctypes

from extract import Unreadable
from words import words

# Maximum pages per call.
MAX_PAGES = 200
# Maximum annotations per page.
_MAX_ANNOTATIONS = 2_000


def read_pages(path, language, enough):
    """Returns the text of pages from the first on, until it exceeds `enough` characters, so that long documents are
    not read in full. Returns `(text, is_whole, notes)` with the notes of `extract.extract`, including `cut` if pages
    after `MAX_PAGES` are not read. Raises `Unreadable`."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        raise Unreadable("encrypted" if "password" in f"{error}".lower() else "broken") from error
    # Only the form environment knows the values of fields. Nothing in a form is run.
    document.init_forms()
    pages = len(document)
    text, read, textless = "", 0, 0
    for number in range(min(pages, MAX_PAGES)):
        page = document[number]
        shown = page.get_textpage().get_text_bounded()
        beside = _read_annotations(document, page, language)
        textless += not shown.strip() and not beside
        text += f"## {words(language, 'page', number=number + 1, pages=pages)}\n\n{shown}\n\n{beside}"
        page.close()
        read = number + 1
        if len(text) > enough:
            break
    notes = [] if not textless else ["pictures"] if textless == read else [f"textless:{textless}"]
    attachments = document.count_attachments()
    notes += [f"objects:{attachments}"] if attachments else []
    return text, read == pages, notes + (["cut"] if read == MAX_PAGES < pages else [])


def _read_annotations(document, page, language):
    import pypdfium2.raw as pdfium

    fields, texts = {}, []
    for number in range(min(pdfium.FPDFPage_GetAnnotCount(page), _MAX_ANNOTATIONS)):
        annotation = pdfium.FPDFPage_GetAnnot(page, number)
        if not annotation:
            continue
        kind = pdfium.FPDFAnnot_GetSubtype(annotation)
        if kind == pdfium.FPDF_ANNOT_WIDGET and document.formenv:
            name = _string(pdfium.FPDFAnnot_GetFormFieldName, document.formenv, annotation)
            fields[name] = _string(pdfium.FPDFAnnot_GetFormFieldValue, document.formenv, annotation)
        elif kind in (pdfium.FPDF_ANNOT_FREETEXT, pdfium.FPDF_ANNOT_TEXT):
            texts.append(_string(pdfium.FPDFAnnot_GetStringValue, annotation, b"Contents"))
        pdfium.FPDFPage_CloseAnnot(annotation)
    lines = [words(language, "comment", text=text) for text in texts if text]
    if fields:
        lines += [words(language, "form_fields"), *(f"- {name}: {value}" for name, value in fields.items())]
    return "\n".join([*lines, "", ""]) if lines else ""


def _string(read, *arguments):
    """Returns a string that pdfium writes as UTF-16 into a buffer, after reporting the size in bytes."""
    import pypdfium2.raw as pdfium

    size = read(*arguments, None, 0)
    buffer = ctypes.create_string_buffer(size + 2)
    read(*arguments, ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR)), size)
    return buffer.raw[:size].decode("utf-16-le", errors="replace").rstrip("\0").strip()
