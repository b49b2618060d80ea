"""The direction of the text of rendered documents."""

import zipfile

# Points from the right edge of a page of A4 to its text.
MARGIN = 62


def faults_of_direction(path, is_rtl):
    """Yields a fault if a document is laid out in the wrong direction."""
    if path.endswith("pdf"):
        return _faults_of_pdf(path, is_rtl)
    if path.endswith("pptx"):
        return _faults_of_pptx(path, is_rtl)
    return _faults_of_marks(path, is_rtl)


def _faults_of_pdf(path, is_rtl):
    """Looks at the heading, which an English document has at the left."""
    import pypdfium2
    from pypdfium2 import raw

    page = pypdfium2.PdfDocument(path)[0]
    pieces = [piece.get_bounds() for piece in page.get_objects([raw.FPDF_PAGEOBJ_TEXT])]
    top = max(bounds[3] for bounds in pieces)
    right = max(bounds[2] for bounds in pieces if bounds[3] > top - 30)
    if is_rtl and abs(page.get_width() - MARGIN - right) > 3:
        yield f"its heading ends at {right:.0f} points"


def _faults_of_pptx(path, is_rtl):
    """Looks at each paragraph; code is left to right."""
    import pptx
    from pptx.oxml.ns import qn

    for slide in pptx.Presentation(path).slides:
        for paragraph in slide._element.iter(qn("a:p")):
            text = "".join(piece.text or "" for piece in paragraph.iter(qn("a:t")))
            is_turned = paragraph.pPr is not None and paragraph.pPr.get("rtl") == "1"
            if text and is_turned != (is_rtl and not text.startswith("print(")):
                yield f"{text[:40]!r} is in the wrong direction"


def _faults_of_marks(path, is_rtl):
    """Looks for the marks of a page, or of the styles of a Word document."""
    if path.endswith("docx"):
        with zipfile.ZipFile(path) as archive:
            text = archive.read("word/styles.xml").decode()
        mark = '<w:bidi w:val="1"/>'
    else:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        mark = 'dir="rtl"'
    if (mark in text) != is_rtl:
        yield f"{mark} is{' not' * is_rtl} in it"
