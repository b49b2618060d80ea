"""Data in tables written by code: a text that a spreadsheet would take for a formula stays a text.

A formula that code sets in a cell, with openpyxl or xlsxwriter, stays a formula.
"""

import csv
import re

# Texts that Excel would compute when opening a CSV. Numbers, phone numbers and dates are not included.
_FORMULA = re.compile(r"\s*(=|[+\-@].*[(|!])", re.DOTALL)


def keep_texts():
    """Changes all CSV writers in this process."""
    csv.writer = _wrap_csv(csv.writer)


def keep_texts_in_workbooks():
    """Changes the workbook writers of pandas in this process."""
    from openpyxl.cell.cell import Cell
    from pandas.io.excel._openpyxl import OpenpyxlWriter
    from pandas.io.excel._xlsxwriter import XlsxWriter

    _wrap_openpyxl(OpenpyxlWriter, Cell)
    _wrap_xlsxwriter(XlsxWriter)


def _wrap_openpyxl(writer, cell):
    write_cells, bind_value = writer._write_cells, cell._bind_value
    is_data = [False]

    def bind_text(self, value):
        bind_value(self, value)
        if is_data[0] and self.data_type == "f":
            self.data_type = "s"

    def write_data(self, *arguments, **named):
        is_data[0] = True
        try:
            write_cells(self, *arguments, **named)
        finally:
            is_data[0] = False

    cell._bind_value, writer._write_cells = bind_text, write_data


def _wrap_xlsxwriter(writer):
    write_cells = writer._write_cells

    def write_data(self, cells, sheet_name=None, *arguments, **named):
        written = [self.book, self.book.get_worksheet_by_name(self._get_sheet_name(sheet_name))]
        before = self.book.strings_to_formulas
        _allow_formulas(written, False)
        try:
            write_cells(self, cells, sheet_name, *arguments, **named)
        finally:
            written.append(self.book.get_worksheet_by_name(self._get_sheet_name(sheet_name)))
            _allow_formulas(written, before)

    writer._write_cells = write_data


def _allow_formulas(written, is_allowed):
    for place in written:
        if place is not None:
            place.strings_to_formulas = is_allowed


def _wrap_csv(open_writer):
    class PlainWriter:
        def __init__(self, *arguments, **named):
            self._writer = open_writer(*arguments, **named)

        @property
        def dialect(self):
            return self._writer.dialect

        def writerow(self, row):
            return self._writer.writerow([_plain(cell) for cell in row])

        def writerows(self, rows):
            self._writer.writerows([_plain(cell) for cell in row] for row in rows)

    return PlainWriter


def _plain(cell):
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell
