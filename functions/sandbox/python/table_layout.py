"""The table among the rows of a file: its header, its data, and what is left out."""

import datetime
import re

from cell_values import parse_date, parse_number, plain_text
from csv_table import find_header, find_total, usual_width

_SAMPLE_ROWS = 200
_BLANKS = "\u200b\ufeff \t\r\n\u00a0\u3000"
_MAX_HEADER_ROWS = 4
_MAX_NAME = 100
_MAX_EXAMPLE = 80
_TOTAL = re.compile(r"(?:本页|本月|本年|全部|年度|月度)?(?:合计|总计|小计|总和|共计|累计|合計|總計|総計)(?:\s*[(（\[].*)?[:：]?|"
                    r"(?:grand |sub)?totals?(?:\s*[(\[].*)?:?", re.IGNORECASE)
# The relative difference up to which a cell of a row of totals equals a sum.
_ROUNDING = 1e-6


class Rows:
    """The rows of a text or sheet: `rows`, lists of cells of equal length, with None for empty cells, and `numbers`,
    the number of each row in the file. `merged` are ranges as (top, left, bottom, right), by numbers of rows and places
    of columns. `skipped` is the number of rows before the header if the reader knows it."""

    def __init__(self, rows, numbers, merged=(), skipped=None):
        self.rows, self.numbers, self.merged, self.skipped = rows, numbers, list(merged), skipped


class Table:
    """A table: `names` of columns, `rows` of cells, and `notes`, a list of `{"code", …}` with everything left out or
    changed (see `read_tables`)."""

    def __init__(self, source):
        self.notes = []
        rows = [[_empty_to_none(cell) for cell in row] for row in source.rows]
        start = self._skip_titles(rows, source)
        depth = _count_header_rows(rows, start, source) if rows else 0
        self.names = self._join_header(rows, start, depth, source)
        places = range(start + depth, len(rows))
        data = [(source.numbers[place], rows[place]) for place in places]
        _fill_merged(data, source, self)
        blank = sum(1 for _, row in data if not _count(row))
        data = [(number, row) for number, row in self._cut_second_table(data) if _count(row)]
        self.note("blank_rows", blank)
        data = self._drop_repeated_header(data, rows[start:start + depth])
        self.rows = [row for _, row in self._drop_footer(data)]
        self._drop_totals()
        self._drop_empty_columns()
        self._name_columns()

    def note(self, code, count=1, **more):
        """Adds a note with a count, unless the count is 0."""
        if count:
            self.notes.append({"code": code, "count": count, **more})

    def _skip_titles(self, rows, source):
        start = source.skipped if source.skipped is not None else _find_start(rows)
        # In a narrow table, a title fills as many cells as a header needs.
        while start + 1 < len(rows) and _count(rows[start]) == 1 and _count(rows[start + 1]) > 1:
            start += 1
        titles = [_example(row) for row in rows[:start] if _count(row)]
        self.note("title_rows", len(titles), examples=titles[:3])
        return start

    def _join_header(self, rows, start, depth, source):
        if not rows:
            return []
        header = rows[start:start + depth]
        if not header:
            self.note("no_header")
            return [None] * len(rows[0])
        filled = [_spread(row, header, level, source, start) for level, row in enumerate(header)]
        names = []
        for place in range(len(rows[0])):
            parts = [clean_name(row[place]) for row in filled if row[place] is not None]
            parts = [part for number, part in enumerate(parts) if part and (not number or part != parts[number - 1])]
            names.append(" ".join(parts)[:_MAX_NAME] or None)
        self.note("header_rows_joined", depth if depth > 1 else 0)
        return names

    def _cut_second_table(self, data):
        """Cuts the rows from a second header on, which begins another table after a blank row."""
        kinds = [_usual_kind([row[place] for _, row in data]) for place in range(len(self.names))]
        for place in range(1, len(data) - 1):
            row = data[place][1]
            if _count(data[place - 1][1]) or _count(row) < 2:
                continue
            following = next((later for _, later in data[place + 1:] if _count(later)), None)
            if following is None:
                continue
            texts = [at for at, cell in enumerate(row) if cell is not None]
            is_header = all(kind_of_cell(row[at]) == "text" for at in texts) and any(
                kinds[at] == "number" and kind_of_cell(following[at]) == "number" for at in texts)
            if is_header:
                rest = [row for _, row in data[place:] if _count(row)]
                self.note("second_table", len(rest), row=data[place][0], examples=[_example(rest[0])])
                return data[:place]
        return data

    def _drop_repeated_header(self, data, header):
        repeated = [number for number, row in data if row in header]
        self.note("repeated_headers", len(repeated))
        return [(number, row) for number, row in data if row not in header]

    def _drop_footer(self, data):
        """Drops the last rows with a single cell, such as the name of an author, in tables of at least 3 columns."""
        footer = []
        while len(data) > 1 and len(self.names) > 2 and _count(data[-1][1]) == 1 and not _is_total(data[-1][1]):
            footer.append(_example(data.pop()[1]))
        self.note("footer_rows", len(footer), examples=footer[:3])
        return data

    def _drop_totals(self):
        """Drops rows of totals: the last rows by name or sum, others by name and sum."""
        totals = []
        while len(self.rows) > 1 and (_is_total(self.rows[-1]) or _is_sum(self.rows[:-1], self.rows[-1])):
            totals.append(_example(self.rows.pop()))
        self.note("total_rows", len(totals), examples=totals[:3])
        kept, group, subtotals, unclear = [], [], [], []
        for row in self.rows:
            if _is_total(row) and len(group) > 0 and (_adds_up(group, row) or _adds_up(kept, row)):
                subtotals.append(_example(row))
                group = []
                continue
            if _is_total(row):
                unclear.append(_example(row))
            kept.append(row)
            group.append(row)
        self.rows = kept
        self.note("subtotal_rows", len(subtotals), examples=subtotals[:3])
        self.note("possible_total_rows", len(unclear), examples=unclear[:3])

    def _drop_empty_columns(self):
        used = [place for place, name in enumerate(self.names)
                if name is not None or any(row[place] is not None for row in self.rows)]
        self.note("empty_columns", len(self.names) - len(used))
        self.names = [self.names[place] for place in used]
        self.rows = [[row[place] for place in used] for row in self.rows]

    def _name_columns(self):
        """Gives each column a name that no other has, in any case of letters."""
        unnamed, renamed, names, seen = 0, [], [], set()
        taken = {name.casefold() for name in self.names if name}
        for place, name in enumerate(self.names, 1):
            unnamed += name is None
            wanted = name or f"column_{place}"
            unique, number = wanted, 2
            while unique.casefold() in seen or (unique != name and unique.casefold() in taken):
                unique, number = f"{wanted}_{number}", number + 1
            if name is not None and unique != name:
                renamed.append(f"{name} → {unique}")
            seen.add(unique.casefold())
            names.append(unique)
        self.names = names
        self.note("unnamed_columns", unnamed)
        self.note("renamed_columns", len(renamed), examples=renamed[:5])


def clean_name(cell):
    """Returns a cell of a header as a name: one line, without outer blanks and control characters."""
    from column import show_native

    text = cell if isinstance(cell, str) else show_native(cell)
    return re.sub(r"[\s\x00-\x1f\u200b\ufeff]+", " ", text).strip()


def _empty_to_none(cell):
    if isinstance(cell, str) and (not cell or cell.isspace() or not cell.strip(_BLANKS)):
        return None
    return cell


def _count(row):
    return sum(1 for cell in row if cell is not None)


def _example(row):
    return " | ".join(clean_name(cell) for cell in row if cell is not None)[:_MAX_EXAMPLE]


def kind_of_cell(cell):
    """Returns `number`, `date`, `text` or `empty`."""
    if cell is None:
        return "empty"
    if isinstance(cell, str):
        text = plain_text(cell)
        return "number" if parse_number(text) else "date" if parse_date(text) else "text"
    if isinstance(cell, bool):
        return "text"
    return "date" if isinstance(cell, (datetime.date, datetime.time, datetime.timedelta)) else "number"


def _usual_kind(cells):
    kinds = [kind_of_cell(cell) for cell in cells[:_SAMPLE_ROWS] if cell is not None]
    return max(set(kinds), key=kinds.count) if kinds else "empty"


# The header


def _find_start(rows):
    """Returns the place of the first row of the header."""
    shown = [["" if cell is None else clean_name(cell) for cell in row] for row in rows[:_SAMPLE_ROWS]]
    if not shown:
        return 0
    width = usual_width([[cell for cell in row if cell] for row in shown])[0]
    is_header = [len([cell for cell in row if cell]) * 2 >= min(max(width, len(row) // 2), 4) for row in shown]
    return is_header.index(True) if True in is_header else find_header(shown, len(shown[0]))


def _count_header_rows(rows, start, source):
    """Returns the number of rows of the header, or 0 if the first row is data."""
    if _is_data(rows, start):
        return 0
    end = start + 1
    for top, left, bottom, right in source.merged:
        if top == source.numbers[start] and right - left + 1 < len(rows[start]):
            is_wide = right > left
            last = bottom + 1 if is_wide else bottom
            end = max(end, sum(1 for number in source.numbers if number <= last))
    if end == start + 1 and not source.merged and _has_groups(rows, start):
        end = start + 2
    end = min(end, start + _MAX_HEADER_ROWS, len(rows))
    while end > start + 1 and any(kind_of_cell(cell) == "number" and not _is_label(cell) for cell in rows[end - 1]):
        end -= 1
    return end - start


def _is_label(cell):
    text = plain_text(cell) if isinstance(cell, str) else clean_name(cell)
    return text.isdecimal() and (1900 <= int(text) <= 2100 or int(text) <= 31)


def _is_data(rows, start):
    """Returns true if the first row has numbers or dates as its columns have, and no numbers that name columns."""
    cells = [cell for cell in rows[start] if cell is not None]
    numbers = [cell for cell in cells if kind_of_cell(cell) == "number"]
    has_date = any(kind_of_cell(cell) == "date" for cell in cells)
    if len(rows) < start + 2 or (all(map(_is_label, numbers)) and not has_date):
        return False
    same = 0
    for place, cell in enumerate(rows[start]):
        kind = kind_of_cell(cell)
        below = [row[place] for row in rows[start + 1:start + _SAMPLE_ROWS] if row[place] is not None]
        if kind in ("number", "date") and below:
            same += 1 if all(kind_of_cell(other) == kind for other in below) else -1
    return same > 0


def _has_groups(rows, start):
    """Returns true if a row of names of groups, with gaps, stands above a row of names."""
    if start + 2 >= len(rows):
        return False
    first, second = rows[start], rows[start + 1]
    gaps = [place for place in range(1, len(first)) if first[place] is None]
    is_named = gaps and all(second[place] is not None for place in gaps)
    if not is_named or any(kind_of_cell(cell) in ("number", "date") and not _is_label(cell) for cell in second):
        return False
    below = rows[start + 2:start + _SAMPLE_ROWS]
    return any(_usual_kind([row[place] for row in below]) in ("number", "date") for place in gaps)


def _spread(row, header, level, source, start):
    """Returns a row of the header in which the name of a group stands above each of its columns."""
    row = list(row)
    if level + 1 == len(header) and len(header) > 1:
        return row
    number = source.numbers[start + level]
    if source.merged:
        for top, left, _, right in source.merged:
            if top == number and right < len(row):
                row[left:right + 1] = [row[left]] * (right - left + 1)
    elif len(header) > 1:
        for place in range(1, len(row)):
            if row[place] is None and header[level + 1][place] is not None:
                row[place] = row[place - 1]
    return row


# The data


def _fill_merged(data, source, table):
    """Repeats the text of merged cells in each row; numbers stay in the first, so that their sum is right."""
    places = {number: row for number, row in data}
    filled, kept = 0, 0
    for top, left, bottom, right in source.merged:
        row = places.get(top)
        if row is None or left >= len(row) or row[left] is None:
            continue
        if kind_of_cell(row[left]) == "number":
            kept += 1
            continue
        for number in range(top, bottom + 1):
            other = places.get(number)
            if other is not None and number > top and other[left] is None:
                other[left] = row[left]
                filled += 1
    table.note("merged_cells_filled", filled)
    table.note("merged_numbers_kept_once", kept)


def _is_total(row):
    first = next((cell for cell in row if cell is not None), None)
    if not isinstance(first, str):
        return False
    return bool(_TOTAL.fullmatch(plain_text(first))) or find_total([first]) is not None


def _number(cell):
    """Returns a cell as a number with its ordinary marks, or None."""
    if isinstance(cell, bool) or cell is None:
        return None
    if not isinstance(cell, str):
        return float(cell) if kind_of_cell(cell) == "number" else None
    parsed = parse_number(cell)
    if parsed is None or parsed.unit == "%":
        return None
    return float(parsed.number(min(parsed.marks, key=lambda pair: (pair[0] != ".", pair))))


def _sums(rows, row):
    """Returns for each number of a row whether it is the sum of the numbers above, which are at least two."""
    found = []
    for place, cell in enumerate(row):
        number = _number(cell)
        above = [value for value in (_number(other[place]) for other in rows) if value is not None]
        if number is not None and len(above) >= 2:
            found.append(abs(sum(above) - number) <= _ROUNDING * max(1, abs(number)) and number != 0)
    return found


def _adds_up(rows, row):
    return any(_sums(rows, row))


def _is_sum(rows, row):
    """Returns true for a row without a name whose numbers are all sums."""
    if next((cell for cell in row[:1] if cell is not None), None) is not None:
        return False
    sums = _sums(rows, row)
    return bool(sums) and all(sums) and all(cell is None or _number(cell) is not None for cell in row)
