"""Charts as data: a block of JSON is checked, and drawn in the house style."""

import json
import math
from dataclasses import dataclass, field

import house
from drawing import LETTER, Drawing, shortened
from words import words

KINDS = ("bar", "line", "area", "pie", "scatter")
# Maximum series, labels or points of a chart, and characters of its JSON and of a text.
MAX_SERIES, MAX_POINTS, MAX_JSON, MAX_WORDS = 12, 500, 60_000, 200
_KEYS = {"type", "title", "unit", "labels", "series", "source", "stacked", "horizontal", "x", "y"}
_SIZE = 11.5


class BadChart(Exception):
    """A block that is no chart. The message, for its author, says how to correct the block."""


@dataclass
class Chart:
    """A checked chart. A series is `(name, values)`: a number or None for each label, or pairs for `scatter`."""

    kind: str
    title: str
    unit: str
    source: str
    labels: list
    series: list
    is_stacked: bool = False
    is_horizontal: bool = False
    axes: tuple = ("", "")
    language: str = field(default="en", compare=False)

    def caption(self):
        """Returns the words below the drawing of a form that has its own title."""
        return words(self.language, "source", text=self.source) if self.source else ""

    def description(self):
        """Returns the content in words."""
        rows = [f"{name}: {', '.join(map(_told, values))}" for name, values in self.series]
        return f"{self.title} ({self.unit}) {'; '.join(rows)}"[:2_000]


def _told(value):
    if isinstance(value, tuple):
        return "/".join(map(number, value))
    return "–" if value is None else number(value)


def read_chart(text, language):
    """Returns the chart of a block. Raises `BadChart`."""
    def bad(key, /, **values):
        raise BadChart(words(language, f"chart_{key}", **values))

    try:
        told = json.loads(text[:MAX_JSON])
    except (ValueError, RecursionError) as error:
        bad("json", error=f"{error}"[:120])
    if not isinstance(told, dict):
        bad("json", error="{…}")
    if unknown := sorted(set(told) - _KEYS):
        bad("keys", keys=", ".join(unknown)[:100], known=", ".join(sorted(_KEYS)))
    kind = told.get("type")
    if kind not in KINDS:
        bad("type", kind=f"{kind}"[:40], known=", ".join(KINDS))
    for key in ("title", "unit", "source", "x", "y"):
        if not isinstance(told.get(key, ""), str):
            bad("text", key=key)
    is_plain = kind != "scatter"
    labels = told.get("labels", [])
    if is_plain and not (isinstance(labels, list) and 0 < len(labels) <= MAX_POINTS and
                         all(isinstance(label, (str, int, float)) for label in labels)):
        bad("labels", most=MAX_POINTS)
    listed = told.get("series")
    if not isinstance(listed, list) or not 0 < len(listed) <= MAX_SERIES:
        bad("series", most=MAX_SERIES)
    series = []
    for place, one in enumerate(listed, 1):
        name = one.get("name", "") if isinstance(one, dict) else None
        values = one.get("values" if is_plain else "points") if isinstance(one, dict) else None
        if not isinstance(name, str) or not isinstance(values, list):
            bad("one", place=place, key="values" if is_plain else "points")
        if is_plain and len(values) != len(labels):
            bad("length", place=place, count=len(values), labels=len(labels))
        if not is_plain and not all(isinstance(pair, list) and len(pair) == 2 and all(map(_is_number, pair))
                                    for pair in values):
            bad("points", place=place)
        if is_plain and not all(value is None or _is_number(value) for value in values):
            bad("values", place=place)
        series.append((name[:MAX_WORDS], values if is_plain else [tuple(pair) for pair in values[:MAX_POINTS]]))
    if not any(value is not None for _, values in series for value in values):
        bad("empty")
    if kind == "pie" and (len(series) > 1 or any(value is None or value < 0 for value in series[0][1])
                          or not sum(series[0][1])):
        bad("pie")
    words_of = {key: told.get(key, "").strip()[:MAX_WORDS] for key in ("title", "unit", "source", "x", "y")}
    return Chart(kind, words_of["title"], words_of["unit"], words_of["source"],
                 [f"{label}"[:MAX_WORDS] for label in labels] if is_plain else [], series,
                 bool(told.get("stacked")), bool(told.get("horizontal")), (words_of["x"], words_of["y"]), language)


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15


def number(value):
    """Returns a number with separated thousands, and without needless digits."""
    if value == 0 or abs(value) >= 1e-4:
        digits = 0 if value == int(value) else 1 if abs(value) >= 1000 else 2 if abs(value) >= 1 else 4
        text = f"{value:,.{digits}f}"
        return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")
    return f"{value:.2g}".replace("-", "−")


def ticks(low, high, count=5):
    """Returns round numbers from below `low` to above `high`."""
    if low == high:
        low, high = (0, high) if high > 0 else (low, 0) if low < 0 else (0, 1)
    raw = (high - low) / count
    power = 10 ** math.floor(math.log10(raw))
    step = next(power * one for one in (1, 2, 2.5, 5, 10) if power * one >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [place * step for place in range(first, last + 1)]


def color_of(place):
    return house.SERIES[place % len(house.SERIES)]


class _Plot:
    """The area of a drawing between title and source, and the scale of its values."""

    def __init__(self, chart, width, height):
        self.chart = chart
        self.drawing = drawing = Drawing(width, height, chart.description())
        self.left, self.right, self.top, self.bottom = 4, width - 8, 0, height - 8
        y = 0
        if chart.title:
            for line in _lines(chart.title, width - 8, 16)[:2]:
                y += 20
                drawing.text(4, y, line, 16, is_bold=True)
        if chart.unit and chart.kind != "scatter":
            y += 17
            drawing.text(4, y, chart.unit, _SIZE, "soft")
        names = [name for name, _ in chart.series if name]
        # Lines, and areas, are named at their ends; a pie names its parts.
        if len(names) > 1 and chart.kind in ("bar", "scatter"):
            y = self._add_legend(y + 20, names)
        if chart.source:
            drawing.text(4, height - 6, shortened(chart.caption(), width - 8, 10), 10, "soft")
            self.bottom -= 16
        self.top = y + 16

    def _add_legend(self, y, names):
        x = 4
        for place, name in enumerate(names):
            wide = 26 + house.text_width(name) * _SIZE * LETTER
            if x > 4 and x + wide > self.right:
                x, y = 4, y + 17
            self.drawing.rect(x, y - 9, 10, 10, color_of(place))
            self.drawing.text(x + 15, y, shortened(name, self.right - x - 15, _SIZE), _SIZE, "soft")
            x += wide
        return y

    def scale(self, values, is_from_zero=True):
        """Sets the range of values."""
        low, high = min(values), max(values)
        if is_from_zero or low > 0 and low < high * 0.5:
            low, high = min(0, low), max(0, high)
        self.ticks = ticks(low, high)
        self.low, self.high = self.ticks[0], self.ticks[-1]

    def share(self, value):
        return (value - self.low) / (self.high - self.low)

    def y(self, value):
        return self.bottom - self.share(value) * (self.bottom - self.top)

    def x(self, value):
        return self.left + self.share(value) * (self.right - self.left)

    def add_value_axis(self):
        """Draws lines with values at the left."""
        told = [number(tick) for tick in self.ticks]
        self.left += max(map(len, told)) * _SIZE * LETTER + 10
        for tick, text in zip(self.ticks, told):
            y = self.y(tick)
            self.drawing.line([(self.left, y), (self.right, y)], "soft" if tick == 0 else "grid")
            self.drawing.text(self.left - 8, y + 4, text, _SIZE, "soft", "end")

    def leave_labels(self):
        """Leaves room for labels below the plot, in up to two lines."""
        step = (self.right - self.left - 40) / len(self.chart.labels)
        self.labels = [_two_lines(label, max(60, step - 6)) for label in self.chart.labels]
        self.bottom -= 12 + 14 * max(map(len, self.labels))

    def add_labels(self, xs, step):
        """Draws labels below their places, as many as have room."""
        wide = max(house.text_width(line) for lines in self.labels for line in lines) * _SIZE * LETTER
        every = max(1, math.ceil((min(wide, 120) + 10) / step))
        for x, lines in list(zip(xs, self.labels))[::every]:
            for number, line in enumerate(lines):
                text = shortened(line, step * every - 4, _SIZE)
                # The first label may be wider than the axis of values.
                x = max(x, house.text_width(text) * _SIZE * LETTER / 2)
                self.drawing.text(x, self.bottom + 18 + 14 * number, text, _SIZE, "soft", "middle")


def _two_lines(text, width):
    """Returns a text in one line if it fits, otherwise in two."""
    first, *more = _lines(text.strip(), width, _SIZE)
    return [first, text.strip()[len(first):].strip()] if more else [first]


def _lines(text, width, size):
    """Splits a text into lines that fit, after words or between Chinese characters."""
    lines, line = [], ""
    for word in _words(text):
        if line and house.text_width(line + word) * size * LETTER > width:
            lines.append(line.strip())
            line = ""
        line += word
    return [*lines, line.strip()]


def _words(text):
    word = ""
    for letter in text:
        word += letter
        if letter == " " or letter >= "\u2e80":
            yield word
            word = ""
    yield word


def draw_chart(chart, width=720, height=0):
    """Returns the drawing of a chart, at least this high."""
    rows = len(chart.labels) * (len(chart.series) if not chart.is_stacked else 1)
    height = max(height, min(900, max(width * 0.34, 100 + 28 * rows)) if is_horizontal(chart, width) else width * 0.48)
    plot = _Plot(chart, width, height)
    if chart.kind == "bar" and is_horizontal(chart, width):
        _draw_rows(plot)
    else:
        {"bar": _draw_bars, "line": _draw_lines, "area": _draw_lines, "pie": _draw_pie,
         "scatter": _draw_points}[chart.kind](plot)
    return plot.drawing


def is_horizontal(chart, width):
    """Returns true if the bars of a chart lie, as chosen or because their labels are long."""
    widest = max((house.text_width(label) for label in chart.labels), default=0) * _SIZE * LETTER
    is_narrow = widest > width * 0.85 / max(1, len(chart.labels)) and len(chart.labels) <= 30
    return chart.kind == "bar" and (chart.is_horizontal or is_narrow)


def _bars(chart):
    """Yields `(label place, bar place, bars per label, series place, from, to)`."""
    for at in range(len(chart.labels)):
        sums = [0, 0]
        for place, (_, values) in enumerate(chart.series):
            value = values[at]
            if value is None:
                continue
            if chart.is_stacked:
                start = sums[value < 0]
                sums[value < 0] += value
                yield at, 0, 1, place, start, start + value
            else:
                yield at, place, len(chart.series), place, 0, value


def _draw_bars(plot):
    chart, drawing = plot.chart, plot.drawing
    bars = list(_bars(chart))
    widest = max(len(number(bar[5])) for bar in bars) * 10.5 * LETTER
    has_values = not chart.is_stacked and len(bars) <= 14 and widest * len(bars) < 0.72 * (plot.right - 40)
    edges = [edge for bar in bars for edge in bar[4:]]
    # The value of a negative bar needs room above the labels.
    plot.scale([*edges, min(edges) * 1.1] if has_values and min(edges) < 0 else edges)
    plot.leave_labels()
    plot.top += 10 if has_values else 0
    plot.add_value_axis()
    step = (plot.right - plot.left) / len(chart.labels)
    for at, bar, count, place, start, end in bars:
        wide = min(step * 0.72, 64 * count) / count
        x = plot.left + step * (at + 0.5) + (bar - count / 2) * wide
        top, foot = sorted((plot.y(start), plot.y(end)))
        drawing.rect(x + wide * 0.05, top, wide * 0.9, max(foot - top, 0.7), color_of(place))
        if has_values:
            y = top - 5 if end >= 0 else foot + 13
            drawing.text(x + wide / 2, y, number(end), 10.5, "ink", "middle")
    plot.add_labels([plot.left + step * (at + 0.5) for at in range(len(chart.labels))], step)


def _draw_rows(plot):
    chart, drawing = plot.chart, plot.drawing
    bars = list(_bars(chart))
    plot.scale([edge for bar in bars for edge in bar[4:]])
    room = plot.right * 0.38
    widest = min(room, max(house.text_width(label) for label in chart.labels) * _SIZE * LETTER + 12)
    plot.left += widest
    step = (plot.bottom - plot.top) / len(chart.labels)
    has_values = not chart.is_stacked and step * 0.72 / bars[0][2] > 10
    numbers = [number(bar[5]) for bar in bars] if has_values else [""]
    plot.right -= max(map(len, numbers)) * _SIZE * LETTER + 8
    # The value of a negative bar stands between the label and the bar.
    plot.left += max((len(told) for told in numbers if told.startswith("−")), default=0) * _SIZE * LETTER
    for at, label in enumerate(chart.labels):
        lines = _two_lines(label, widest - 8) if step > 26 else [label]
        for line, text in enumerate(lines):
            y = plot.top + step * (at + 0.5) + 4 + 13 * (line - (len(lines) - 1) / 2)
            drawing.text(4 + widest - 12, y, shortened(text, widest - 8, _SIZE), _SIZE, "ink", "end")
    for at, bar, count, place, start, end in bars:
        high = step * 0.72 / count
        y = plot.top + step * (at + 0.5) + (bar - count / 2) * high
        left, right = sorted((plot.x(start), plot.x(end)))
        drawing.rect(left, y + high * 0.05, max(right - left, 0.7), high * 0.9, color_of(place))
        if has_values:
            x, anchor = (right + 6, "start") if end >= 0 else (left - 6, "end")
            drawing.text(x, y + high / 2 + 4, number(end), _SIZE, "ink", anchor)
    drawing.line([(plot.x(0), plot.top), (plot.x(0), plot.bottom)], "soft")


def _draw_lines(plot):
    chart, drawing = plot.chart, plot.drawing
    is_area, count = chart.kind == "area", len(chart.labels)
    below, layers = [0] * count, []
    for name, values in chart.series:
        if chart.is_stacked:
            values = [low + (value or 0) for low, value in zip(below, values)]
        layers.append((name, values, below))
        below = values if chart.is_stacked else below
    plot.scale([value for _, values, _ in layers for value in values if value is not None], is_area)
    plot.leave_labels()
    names = [shortened(name, min(150, plot.right * 0.25), _SIZE) for name, _ in chart.series]
    if any(names):
        plot.right -= max(map(house.text_width, names)) * _SIZE * LETTER + 12
    plot.add_value_axis()
    step = (plot.right - plot.left) / max(1, count - 1)
    xs = [plot.left + step * at if count > 1 else (plot.left + plot.right) / 2 for at in range(count)]
    for place, (_, values, low) in reversed(list(enumerate(layers))):
        for piece in _pieces(values):
            points = [(xs[at], plot.y(values[at])) for at in piece]
            if is_area:
                foot = [(xs[at], plot.y(low[at] if chart.is_stacked else 0)) for at in reversed(piece)]
                drawing.polygon([*points, *foot], color_of(place), 0.85 if chart.is_stacked else 0.22)
            if len(points) == 1:
                drawing.circle(*points[0], 3.5, color_of(place))
            elif not (is_area and chart.is_stacked):
                drawing.line(points, color_of(place), 2.4)
    plot.add_labels(xs, step if count > 1 else plot.right - plot.left)
    _name_ends(plot, names, layers)


def _name_ends(plot, names, layers):
    """Writes the names of lines at their ends, apart from each other."""
    ends = []
    for place, (_, values, low) in enumerate(layers):
        last = next((value for value in reversed(values) if value is not None), None)
        if last is not None:
            middle = (last + low[-1]) / 2 if plot.chart.kind == "area" and plot.chart.is_stacked else last
            ends.append([plot.y(middle) + 4, place])
    ends.sort()
    for before, after in zip(ends, ends[1:]):
        after[0] = max(after[0], before[0] + 14)
    over = ends[-1][0] - plot.bottom - 4 if ends else 0
    for y, place in ends:
        plot.drawing.text(plot.right + 8, y - max(0, over), names[place], _SIZE, color_of(place), is_bold=True)


def _pieces(values):
    """Returns the runs of places that have values."""
    pieces = [[]]
    for at, value in enumerate(values):
        if value is None:
            pieces.append([])
        else:
            pieces[-1].append(at)
    return [piece for piece in pieces if piece]


def _draw_pie(plot):
    chart, drawing = plot.chart, plot.drawing
    values = chart.series[0][1]
    total, start = sum(values), -math.pi / 2
    radius = min((plot.bottom - plot.top) / 2, plot.right * (0.24 if plot.right > 500 else 0.18))
    x, y = plot.left + radius + plot.right * 0.03, (plot.top + plot.bottom) / 2
    for place, value in enumerate(values):
        end = start + 2 * math.pi * value / total
        steps = max(2, int((end - start) * 24))
        arc = [start + (end - start) * step / steps for step in range(steps + 1)]
        drawing.polygon([*((x + radius * math.cos(a), y + radius * math.sin(a)) for a in arc),
                         *((x + radius * 0.56 * math.cos(a), y + radius * 0.56 * math.sin(a))
                           for a in reversed(arc))], _shade(place))
        side = x + radius * math.cos(start), y + radius * math.sin(start)
        drawing.line([side, (x + radius * 0.56 * math.cos(start), y + radius * 0.56 * math.sin(start))], "paper", 1.5)
        start = end
    step = min(28, (plot.bottom - plot.top) / len(values))
    top, left = y - step * (len(values) - 1) / 2 + 4, x + radius + plot.right * 0.06
    size = min(13, step * 0.8)
    shares = [number(round(100 * value / total, 1)) + " %" for value in values]
    if chart.unit not in ("%", "％"):
        shares = [f"{number(value)} · {share}" for value, share in zip(values, shares)]
    widest, room = (max(map(house.text_width, texts)) * size * LETTER for texts in (chart.labels, shares))
    right = min(left + 50 + widest + room, plot.right)
    for place, (label, share) in enumerate(zip(chart.labels, shares)):
        drawing.rect(left, top + step * place - 10, 11, 11, _shade(place))
        drawing.text(left + 20, top + step * place, shortened(label, right - room - left - 24, size), size)
        drawing.text(right, top + step * place, share, size, "soft", "end")


def _shade(place):
    return color_of(place) if place < len(house.SERIES) else house.LINES


def _draw_points(plot):
    chart, drawing = plot.chart, plot.drawing
    pairs = [pair for _, points in chart.series for pair in points]
    across = ticks(min(x for x, _ in pairs), max(x for x, _ in pairs), 7)
    plot.scale([y for _, y in pairs], False)
    plot.bottom -= 26 + (18 if chart.axes[0] else 0)
    if chart.axes[1] or chart.unit:
        drawing.text(4, plot.top, chart.axes[1] or chart.unit, _SIZE, "soft")
        plot.top += 14
    plot.add_value_axis()
    wide = plot.right - plot.left - 20

    def place(x):
        return plot.left + 10 + (x - across[0]) / (across[-1] - across[0]) * wide

    for tick in across:
        drawing.text(place(tick), plot.bottom + 18, number(tick), _SIZE, "soft", "middle")
    if chart.axes[0]:
        drawing.text((plot.left + plot.right) / 2, plot.bottom + 36, chart.axes[0], _SIZE, "soft", "middle")
    for at, (_, points) in enumerate(chart.series):
        for x, y in points:
            drawing.circle(place(x), plot.y(y), 5, color_of(at))
