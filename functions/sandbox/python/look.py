"""What stands in a file, in short: what somebody needs to see who is about to write code for it."""

import os

import extract
from extract import Unreadable

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


def look(path, name):
    """`{"text"}`, a description of at most 4 000 characters, or `{"problem"}`, a word of `extract.Unreadable`."""
    try:
        described = _describe(path, name)
    except Unreadable as error:
        return {"problem": f"{error}"}
    except Exception:  # A library that trips over a broken file says so in many ways.
        return {"problem": "broken"}
    return {"text": described if len(described) <= MAX_LOOK else described[:MAX_LOOK] + "…"}


def _describe(path, name):
    kind = extract.kind_of(path, name)
    if kind == "csv":
        return _describe_csv(path)
    if kind == "xlsx":
        return _describe_workbook(path)
    if kind == "image":
        return _describe_image(path)
    told = extract.extract(path, name, 0, MAX_TEXT)
    more = "…" if told["next_offset"] else ""
    return told["text"] + more


def _describe_csv(path):
    import pandas

    text = extract.CsvForm(path)
    table = pandas.read_csv(path, encoding=text.encoding, sep=text.separator, nrows=TYPED_ROWS,
                            on_bad_lines="skip", encoding_errors="replace")
    rows = max(0, text.lines - 1)
    arguments = [] if text.encoding in ("utf-8", "utf-8-sig") else [f'encoding="{text.encoding}"']
    arguments += [] if text.separator == "," else [f"sep={text.separator!r}"]
    read = f"pd.read_csv(name, {', '.join(arguments)})\n" if arguments else ""
    bad = f"{text.ragged} ragged lines\n" if text.ragged else ""
    about = f"{rows} rows × {len(table.columns)} columns"
    if rows > TYPED_ROWS:
        about += f" (types from the first {TYPED_ROWS})"
    return f"{about}\n{read}{bad}{_describe_table(table)}"


def _describe_workbook(path):
    import pandas

    extract.check_archive(path)
    workbook = pandas.ExcelFile(path, engine="calamine")
    parts = []
    for sheet in workbook.sheet_names[:MAX_SHEETS]:
        table = workbook.parse(sheet)
        parts.append(f'Sheet "{sheet}": {len(table)} rows × {len(table.columns)} columns\n{_describe_table(table)}')
    if len(workbook.sheet_names) > MAX_SHEETS:
        parts.append(f"… and {len(workbook.sheet_names) - MAX_SHEETS} more sheets")
    return "\n\n".join(parts)


def _describe_table(table):
    shown = table.iloc[:, :MAX_COLUMNS]
    missing = shown.isna().sum()
    lines = []
    for column, kind in shown.dtypes.items():
        gaps = f", {missing[column]} missing" if missing[column] else ""
        lines.append(f"- {_cut(column)}: {kind}{gaps}")
    if len(table.columns) > MAX_COLUMNS:
        lines.append(f"- … and {len(table.columns) - MAX_COLUMNS} more columns")
    head = shown.head(SHOWN_ROWS)
    rows = [[_cut(column) for column in head.columns], ["---"] * len(head.columns)]
    rows += [[_cut(value) for value in row] for row in head.itertuples(index=False)]
    return "\n".join(lines + [""] + ["| " + " | ".join(row) + " |" for row in rows])


def _cut(value):
    text = f"{value}".replace("\n", " ").replace("|", "\\|")
    return text if len(text) <= MAX_CELL else text[:MAX_CELL] + "…"


def _describe_image(path):
    from PIL import Image

    with Image.open(path) as image:
        return f"{image.format}, {image.width} × {image.height} pixels, {os.path.getsize(path)} bytes"
