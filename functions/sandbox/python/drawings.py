"""Charts, diagrams, pictures and embedded objects of Word and PowerPoint."""

from lxml import etree

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_DGM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_PIC = "{http://schemas.openxmlformats.org/drawingml/2006/picture}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_V = "{urn:schemas-microsoft-com:vml}"
CHOICE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Choice"
FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"

_PICTURES = (f"{_PIC}pic", f"{_P}pic", f"{_V}imagedata")
_OBJECTS = (f"{_W}object", f"{_P}oleObj", f"{_W}altChunk")


class Skipped:
    """Counts of skipped content, for the notes of `extract.extract`."""

    def __init__(self):
        self.images = self.objects = 0
        self.has_deletions = False

    def notes(self):
        notes = [f"images:{self.images}"] if self.images else []
        notes += [f"objects:{self.objects}"] if self.objects else []
        return notes + (["deletions"] if self.has_deletions else [])


def read_drawing(element, part, skipped):
    """Returns a chart or diagram of `part` as blocks; counts a picture or an embedded object."""
    if element.tag == f"{_C}chart":
        return [_read_chart(_related(element.get(f"{_R}id"), part))]
    if element.tag == f"{_DGM}relIds":
        return _read_diagram(_related(element.get(f"{_R}dm"), part))
    skipped.images += element.tag in _PICTURES
    skipped.objects += element.tag in _OBJECTS
    return []


def _related(identifier, part):
    """Returns the XML of a part, or an empty element if the part is missing."""
    try:
        blob = part.related_part(identifier).blob
    except (AttributeError, KeyError):
        return etree.Element("missing")
    return etree.fromstring(blob, etree.XMLParser(resolve_entities=False, no_network=True))


def _read_chart(chart):
    """Returns the title and data of a chart, with one row per category."""
    title = chart.find(f".//{_C}title")
    title = "" if title is None else "".join(piece.text or "" for piece in title.iter(f"{_A}t"))
    names, columns, categories = [], [], {}
    for series in chart.iter(f"{_C}ser"):
        name = series.find(f"{_C}tx//{_C}v")
        names.append("" if name is None else name.text or "")
        for tag in (f"{_C}cat", f"{_C}xVal"):
            categories = categories or _points(series.find(tag))
        columns.append(_points(series.find(f"{_C}val")) or _points(series.find(f"{_C}yVal")))
    rows = sorted({place for column in [categories, *columns] for place in column})
    table = [[categories.get(row, f"{row + 1}"), *(column.get(row, "") for column in columns)] for row in rows]
    return "\n".join(part for part in (title.strip(), table_text([["", *names], *table] if table else [])) if part)


def _points(values):
    """Returns the values of a chart by position."""
    if values is None:
        return {}
    return {int(point.get("idx", 0)): (point.findtext(f"{_C}v") or "").strip() for point in values.iter(f"{_C}pt")}


def _read_diagram(diagram):
    points = [" ".join(piece.text or "" for piece in point.iter(f"{_A}t")) for point in diagram.iter(f"{_DGM}pt")]
    return [f"- {text.strip()}" for text in points if text.strip()]


def table_text(rows):
    """Returns rows of cells as a Markdown table."""
    if not rows:
        return ""
    width = max(len(row) for row in rows)
    lines = [[cell.strip().replace("\n", " ").replace("|", "\\|") for cell in row] for row in rows]
    lines = [line + [""] * (width - len(line)) for line in lines]
    lines.insert(1, ["---"] * width)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
