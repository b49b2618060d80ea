"""Texts of cells as numbers, dates and times. Each parser returns None for a text of another kind."""

import datetime
import re
import unicodedata
from decimal import Decimal

# Digits from which a number is an identifier, because a float cannot hold it.
_ID_DIGITS = 16
_MINUS = str.maketrans({"−": "-", "–": "-", "﹣": "-"})
_SPACES = re.compile(r"[\s\u00a0\u202f\u2009]+")
_CURRENCIES = ("CNY", "RMB", "USD", "EUR", "GBP", "JPY", "HKD", "KRW", "INR", "CHF", "TWD", "人民币", "美元", "欧元",
               "港元", "日元", "元", "圆", "円", "¥", "$", "€", "£", "₩", "₹", "₽")
# Symbols of one currency, by the name under which they are compared.
_SAME_CURRENCY = {"人民币": "¥", "RMB": "¥", "CNY": "¥", "元": "¥", "圆": "¥", "USD": "$", "美元": "$", "EUR": "€",
                  "欧元": "€", "GBP": "£", "KRW": "₩", "INR": "₹"}
_CURRENCY = "|".join(re.escape(name) for name in _CURRENCIES)
_UNIT_BEFORE = re.compile(rf"(?P<sign>[+-]?)(?P<unit>{_CURRENCY})\s*(?P<rest>.+)", re.IGNORECASE)
_UNIT_AFTER = re.compile(rf"(?P<rest>.+?)\s*(?P<unit>%|{_CURRENCY})", re.IGNORECASE)
_INTEGER = re.compile(r"-?(0|[1-9]\d{0,14})", re.ASCII)
_DIGIT = re.compile(r"\d")
# Maximum characters of a number, with its unit.
_MAX_NUMBER = 60
_PLAIN = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)")
# A code such as `12E5` is no number.
_SCIENTIFIC = re.compile(r"[+-]?(\d+\.\d*[eE][+-]?|\d+[eE][+-])\d{1,3}")
# Groups of three digits, by the mark between them.
_GROUPED = {",": re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?"),
            ".": re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?"),
            " ": re.compile(r"[+-]?[1-9]\d{0,2}( \d{3})+([.,]\d+)?"),
            "'": re.compile(r"[+-]?[1-9]\d{0,2}('\d{3})+(\.\d+)?")}
_COMMA_DECIMAL = re.compile(r"[+-]?\d+,\d+")
_LEADING_ZERO = re.compile(r"[+-]?0\d+")

_TIME = (r"(?:[T\s]+|(?<=日))(?P<hour>\d{1,2})(?:[:时点](?P<minute>\d{1,2}))?"
         r"(?:[:分](?P<second>\d{1,2})(?:[.,](?P<part>\d{1,9}))?)?"
         r"[秒分]?\s*(?P<half>[AaPp]\.?[Mm]\.?)?\s*(?P<zone>Z|UTC|[+-]\d{2}:?\d{2})?")
_YEAR_FIRST = re.compile(rf"(?P<year>\d{{4}})(?P<mark>[-/.])(?P<month>\d{{1,2}})(?P=mark)(?P<day>\d{{1,2}})"
                         rf"(?:{_TIME})?")
_HAN_DATE = re.compile(rf"(?P<year>\d{{4}})\s*年\s*(?P<month>\d{{1,2}})\s*月\s*(?P<day>\d{{1,2}})\s*[日号]?(?:{_TIME})?")
_HAN_MONTH = re.compile(r"(?P<year>\d{4})\s*年\s*(?P<month>\d{1,2})\s*月(份)?")
_MONTH = re.compile(r"(?P<year>(19|20)\d{2})[-/](?P<month>\d{1,2})")
_YEAR_LAST = re.compile(rf"(?P<first>\d{{1,2}})(?P<mark>[-/.])(?P<second_place>\d{{1,2}})(?P=mark)(?P<year>\d{{4}})"
                        rf"(?:{_TIME})?")
_NAMES = {name: number for number, name in enumerate(
    ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1)}
_NAMED = re.compile(rf"(?P<day>\d{{1,2}})[\s-]+(?P<name>[A-Za-z]{{3,9}})\.?[\s,-]+(?P<year>\d{{4}})(?:{_TIME})?")
_NAME_FIRST = re.compile(rf"(?P<name>[A-Za-z]{{3,9}})\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}})"
                         rf"(?:{_TIME})?")
_CLOCK = re.compile(r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.(?P<part>\d{1,6}))?)?"
                    r"\s*(?P<half>[AaPp][Mm])?")


def plain_text(text):
    """Returns a text without outer blanks, with ASCII digits, signs and spaces."""
    if text.isascii():
        return text.strip()
    return _SPACES.sub(" ", unicodedata.normalize("NFKC", text).translate(_MINUS)).strip()


def find_lost_digits(text):
    """Returns the reason for which a number would lose digits: `leading_zeros`, `long_digits` or `telephone`; else an
    empty text."""
    digits = text.lstrip("+-")
    if not digits.isdecimal():
        return ""
    if _LEADING_ZERO.fullmatch(text):
        return "leading_zeros"
    if len(digits) >= _ID_DIGITS:
        return "long_digits"
    return "telephone" if text[0] == "+" and len(digits) > 7 else ""


class NumberText:
    """A text that may be a number.

    `unit` is `%`, the symbol of a currency, or empty; `digits` is the rest with its sign; `marks` is the set of
    possible pairs of marks, for decimals and between groups of digits; both are single characters or empty.
    """

    def __init__(self, unit, digits, marks):
        self.unit, self.digits, self.marks = unit, digits, marks

    def number(self, marks):
        """Returns the number as a `Decimal`, without the unit; percentages are divided by 100."""
        decimal, group = marks
        digits = self.digits.replace(group, "") if group else self.digits
        number = Decimal(digits.replace(decimal, ".") if decimal else digits)
        return number / 100 if self.unit == "%" else number


# The pairs of marks of a number with neither.
NO_MARKS = frozenset({(d, g) for d in (".", ",") for g in ("", ",", ".", " ", "'") if d != g})
_POINT = frozenset(pair for pair in NO_MARKS if pair[0] == ".")
_COMMA = frozenset(pair for pair in NO_MARKS if pair[0] == ",")


def parse_number(text):
    """Returns the `NumberText` of a text."""
    if _INTEGER.fullmatch(text):
        return NumberText("", text, NO_MARKS)
    if len(text) > _MAX_NUMBER or not _DIGIT.search(text):
        return None
    text, is_negative = plain_text(text), False
    if text.startswith("(") and text.endswith(")"):
        text, is_negative = text[1:-1].strip(), True
    unit, text = _take_unit(text)
    if text.endswith("-") and len(text) > 1:
        text, is_negative = text[:-1].rstrip(), True
    if is_negative:
        if text[:1] in "+-":
            return None
        text = f"-{text}"
    marks = _find_marks(text)
    return NumberText(unit, text, marks) if marks else None


def _take_unit(text):
    before = _UNIT_BEFORE.fullmatch(text)
    if before:
        unit = before["unit"].upper()
        return _SAME_CURRENCY.get(unit, unit), before["sign"] + before["rest"]
    after = _UNIT_AFTER.fullmatch(text)
    if after:
        unit = after["unit"].upper()
        return _SAME_CURRENCY.get(unit, unit), after["rest"]
    return "", text


def _find_marks(text):
    """Returns the pairs of marks with which a text is a number."""
    marks = set()
    if _PLAIN.fullmatch(text):
        marks |= _POINT if "." in text else NO_MARKS
    elif _SCIENTIFIC.fullmatch(text):
        marks |= _POINT
    if _COMMA_DECIMAL.fullmatch(text):
        marks |= _COMMA
    for group, pattern in _GROUPED.items():
        found = pattern.fullmatch(text)
        if not found:
            continue
        rest = found[2] or ""
        decimals = {rest[0]} if rest else {".", ","} - {group}
        marks |= {(decimal, group) for decimal in decimals}
    return frozenset(marks)


class DateText:
    """A text that is a date: `value` with `is_month` for a month alone, `has_time`, `has_zone`.

    `order` is `ymd`, or `unknown` for two numbers before the year, which `in_order` returns as a date.
    """

    def __init__(self, fields, order="ymd", is_month=False):
        self._fields, self.order, self.is_month = fields, order, is_month
        self.has_time = fields.get("hour") is not None
        self.has_zone = fields.get("zone") is not None

    def in_order(self, order):
        """Returns the date in the order `dmy` or `mdy`, or the date of any other text; None for no date."""
        fields = self._fields
        day, month = fields.get("day"), fields.get("month")
        if self.order == "unknown":
            day, month = fields["first"], fields["second_place"]
            if order == "mdy":
                day, month = month, day
        try:
            date = datetime.datetime(int(fields["year"]), int(month), int(day or 1))
            return _add_time(date, fields) if self.has_time else date
        except (ValueError, OverflowError):
            return None

    def day_is(self):
        """Returns `first` or `second` if only this number can be the day, `none` for no date, or an empty text."""
        first, second = int(self._fields["first"]), int(self._fields["second_place"])
        if first > 12 and second > 12:
            return "none"
        return "first" if first > 12 else "second" if second > 12 else ""

    def has_dots(self):
        """Returns true for `31.12.2024`, in which the day always comes first."""
        return self._fields.get("mark") == "."


def parse_date(text):
    """Returns the `DateText` of a text."""
    if len(text) > _MAX_NUMBER or not _DIGIT.search(text):
        return None
    text = plain_text(text)
    if not text[:1].isalnum():
        return None
    for pattern in (_YEAR_FIRST, _HAN_DATE):
        found = pattern.fullmatch(text)
        if found:
            return DateText(found.groupdict())
    for pattern in (_HAN_MONTH, _MONTH):
        found = pattern.fullmatch(text)
        if found:
            return DateText(found.groupdict(), is_month=True)
    found = _YEAR_LAST.fullmatch(text)
    if found:
        return DateText(found.groupdict(), order="unknown")
    found = _NAMED.fullmatch(text) or _NAME_FIRST.fullmatch(text)
    if found and found["name"][:3].lower() in _NAMES:
        return DateText(found.groupdict() | {"month": _NAMES[found["name"][:3].lower()]})
    return None


def _add_time(date, fields):
    hour = _hour(int(fields["hour"]), fields["half"])
    part = int((fields["part"] or "0").ljust(6, "0")[:6])
    minute, second = int(fields["minute"] or 0), int(fields["second"] or 0)
    date = date.replace(hour=hour, minute=minute, second=second, microsecond=part)
    zone = fields["zone"]
    if zone and zone not in ("Z", "UTC"):
        offset = datetime.timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
        date = date - offset if zone[0] == "+" else date + offset
    return date


def _hour(hour, half):
    if not half:
        return hour
    if not 1 <= hour <= 12:
        raise ValueError(hour)
    return hour % 12 + (12 if half[0] in "Pp" else 0)


def parse_time(text):
    """Returns the `datetime.time` of a text such as `09:30`."""
    found = _CLOCK.fullmatch(plain_text(text))
    if not found:
        return None
    try:
        part = int((found["part"] or "0").ljust(6, "0"))
        return datetime.time(_hour(int(found["hour"]), found["half"]), int(found["minute"]), int(found["second"] or 0),
                             part)
    except ValueError:
        return None
