"""What stands in a file, in short: what somebody needs to see who is about to write code for it."""

import os

import extract
from extract import Unreadable
from words import words

# Characters that are told of a file.
MAX_LOOK = 4_000
# Columns that are described, and rows that are shown.
MAX_COLUMNS = 50
SHOWN_ROWS = 5
# Characters of a cell that are shown.
MAX_CELL = 80
# Rows from which the types of a table are told.
TYPED_ROWS = 10_000
# Sheets of a workbook that are described.
MAX_SHEETS = 8
# Characters of a text that are shown.
MAX_TEXT = 2_000


def look(path, name, language):
    """`{"text"}`, a description of at most 4 000 characters, or `{"problem"}`, a word of `extract.Unreadable`.

    Its labels are words of `language`.
    """
    try:
        described = _describe(path, name, language)
    except Unreadable as error:
        return {"problem": f"{error}"}
    except Exception:  # A library that trips over a broken file says so in many ways.
        return {"problem": "broken"}
    return {"text": described if len(described) <= MAX_LOOK else described[:MAX_LOOK] + "…"}


def _describe(path, name, language):
    kind = extract.kind_of(path, name)
    describe = {"csv": _describe_csv, "xlsx": _describe_workbook, "image": _describe_image}.get(kind)
    if describe is not None:
        return describe(path, language)
    told = extract.extract(path, name, 0, MAX_TEXT, language)
    more = "…" if told["next_offset"] else ""
    return told["text"] + more


def _describe_csv(path, language):
    import pandas

    text = extract.CsvForm(path)
    table = pandas.read_csv(path, encoding=text.encoding, sep=text.separator, nrows=TYPED_ROWS,
                            on_bad_lines="skip", encoding_errors="replace")
    rows = max(0, text.lines - 1)
    arguments = [] if text.encoding in ("utf-8", "utf-8-sig") else [f'encoding="{text.encoding}"']
    arguments += [] if text.separator == "," else [f"sep={text.separator!r}"]
    read = f"pd.read_csv(name, {', '.join(arguments)})\n" if arguments else ""
    bad = words(language, "ragged", lines=text.ragged) + "\n" if text.ragged else ""
    about = words(language, "table", rows=rows, columns=len(table.columns))
    if rows > TYPED_ROWS:
        about += words(language, "typed_rows", rows=TYPED_ROWS)
    return f"{about}\n{read}{bad}{_describe_table(table, language)}"


def _describe_workbook(path, language):
    import pandas

    extract.check_archive(path)
    workbook = pandas.ExcelFile(path, engine="calamine")
    parts = []
    for sheet in workbook.sheet_names[:MAX_SHEETS]:
        table = workbook.parse(sheet)
        name = words(language, "sheet", name=sheet)
        about = words(language, "table", rows=len(table), columns=len(table.columns))
        parts.append(f"{name}: {about}\n{_describe_table(table, language)}")
    if len(workbook.sheet_names) > MAX_SHEETS:
        parts.append(words(language, "more_sheets", count=len(workbook.sheet_names) - MAX_SHEETS))
    return "\n\n".join(parts)


def _describe_table(table, language):
    shown = table.iloc[:, :MAX_COLUMNS]
    missing = shown.isna().sum()
    lines = []
    for column, kind in shown.dtypes.items():
        gaps = ", " + words(language, "missing", count=missing[column]) if missing[column] else ""
        lines.append(f"- {_cut(column)}: {kind}{gaps}")
    if len(table.columns) > MAX_COLUMNS:
        lines.append("- " + words(language, "more_columns", count=len(table.columns) - MAX_COLUMNS))
    head = shown.head(SHOWN_ROWS)
    rows = [[_cut(column) for column in head.columns], ["---"] * len(head.columns)]
    rows += [[_cut(value) for value in row] for row in head.itertuples(index=False)]
    return "\n".join(lines + [""] + ["| " + " | ".join(row) + " |" for row in rows])


def _cut(value):
    text = f"{value}".replace("\n", " ").replace("|", "\\|")
    return text if len(text) <= MAX_CELL else text[:MAX_CELL] + "…"


def _describe_image(path, language):
    from PIL import Image

    with Image.open(path) as image:
        return words(language, "image", format=image.format, width=image.width, height=image.height,
                     bytes=os.path.getsize(path))
