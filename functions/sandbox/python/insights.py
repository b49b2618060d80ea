"""Findings in the rows of a query: a value that stands out, a trend, and a change of level.

The probability of a finding comes from permutations of the values with a fixed seed, and is corrected by Holm's method
for all tests of a call. One value for each group leaves nothing to permute: then the largest one is compared with the
gaps between the others, as in samples of an exponential distribution.
"""

import csv
import difflib
import math
from collections import defaultdict

import numpy

PERMUTATIONS, SEED, MAX_P = 9_999, 2016, 0.01
# Points of a series, below which nothing is tested and above which the newest count; all points; findings.
_LEAST_POINTS, _MAX_POINTS, _ALL_POINTS, _MAX_FINDINGS = 6, 400, 2_000, 20
_LEAST_GROUPS = 5
# Characters of a name.
_MAX_NAME = 80
# Permutations at a time: limits the memory.
_CHUNK = 1_111


class InsightError(Exception):
    """Columns that cannot be tested: `code` is `unknown_column`, `no_number` or `no_groups`, `name` is the wrong
    column, `near` are columns that exist."""

    def __init__(self, code, name="", near=()):
        super().__init__(code)
        self.code, self.name, self.near = code, name, list(near)


def read_insights(path, measure, dimension, time):
    """Returns the findings of `find_insights` in a CSV file as `{"findings"}`, or `{"problem", "name", "near"}`."""
    with open(path, encoding="utf-8", newline="") as file:
        columns, *rows = csv.reader(file)
    try:
        return {"findings": find_insights(columns, rows, measure, dimension, time)}
    except InsightError as error:
        return {"problem": error.code, "name": error.name, "near": error.near}


def find_insights(columns, rows, measure, dimension=None, time=None):
    """Returns findings, best first: objects with `kind` (`outstanding`, `trend` or `change_point`), `subject` (a value
    of the dimension, or empty), `p`, and their numbers.

    `columns` are names, `rows` lists of texts. Rows with equal dimension and time are summed up. Raises `InsightError`.
    """
    if not (dimension or time):
        raise InsightError("no_groups", near=columns)
    places = [_find_place(columns, name) for name in (measure, dimension, time)]
    sums = _sum_rows(rows, places, measure)
    findings = _test_groups(sums) if dimension else []
    findings += _test_series(sums) if time else []
    correct_probabilities(findings)
    good = [finding for finding in findings if finding["p"] <= MAX_P and finding.pop("is_shown", True)]
    good.sort(key=lambda finding: (finding["p"], -finding.pop("effect")))
    return [{name: round_number(value) for name, value in finding.items()} for finding in good[:_MAX_FINDINGS]]


def correct_probabilities(findings):
    """Replaces each `p` by Holm's correction for all of the tests."""
    highest = 0
    for rank, finding in enumerate(sorted(findings, key=lambda finding: finding["p"])):
        highest = max(highest, min(1, finding["p"] * (len(findings) - rank)))
        finding["p"] = highest


def round_number(value):
    """Returns a float with six significant digits, as a whole number if it has no decimals; others as they are."""
    if not isinstance(value, float):
        return value
    rounded = float(f"{value:.6g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def _find_place(columns, name):
    if not name:
        return None
    folded = [column.casefold() for column in columns]
    if name.casefold() not in folded:
        near = difflib.get_close_matches(name.casefold(), folded, 5, 0) or folded
        raise InsightError("unknown_column", name, [columns[folded.index(other)] for other in near])
    return folded.index(name.casefold())


def _sum_rows(rows, places, measure):
    """Returns the sums by dimension and time; rows without a measure are left out."""
    sums = defaultdict(float)
    for row in rows:
        value, group, time = ("" if place is None else row[place] for place in places)
        if not value:
            continue
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise InsightError("no_number", measure)
        sums[group, time] += number
    return sums


def _sort_times(times):
    """Sorts numbers by their size, before texts."""
    def place(time):
        try:
            return (False, float(time), "")
        except ValueError:
            return (True, 0.0, time)

    return sorted(times, key=place)


def _shorten(name):
    return " ".join(name.split())[:_MAX_NAME]


# Groups

def _test_groups(sums):
    """Returns the test of the largest group, if there are enough groups."""
    by_group = defaultdict(dict)
    for (group, time), value in sums.items():
        by_group[group][time] = value
    totals = {group: sum(values.values()) for group, values in by_group.items()}
    if len(totals) < _LEAST_GROUPS or min(totals.values()) < 0:
        return []
    ranked = sorted(totals, key=totals.get, reverse=True)
    first, second = ranked[:2]
    times = _sort_times({time for _, time in sums})
    table = numpy.array([[by_group[group].get(time, 0.0) for time in times] for group in ranked])
    p = _permute_groups(table) if len(times) >= _LEAST_POINTS else _compare_gaps(list(totals.values()))
    total = math.fsum(totals.values())
    return [{
        "kind": "outstanding", "subject": _shorten(first), "p": p, "value": totals[first], "next": _shorten(second),
        "next_value": totals[second], "share": 100 * totals[first] / total if total else 0.0, "groups": len(totals),
        "effect": (totals[first] - totals[second]) / totals[first] if totals[first] else 0.0}]


def _permute_groups(table):
    """Returns the probability that the largest total leads by as much, if each time has its values in any order."""
    generator = numpy.random.default_rng(SEED)
    table = table[:, -_MAX_POINTS:]
    lead = _lead(table.sum(axis=1)[None, :])[0]
    rounds = max(1, min(PERMUTATIONS, 40_000_000 // table.size))
    hits = 0
    for _ in range(rounds):
        hits += _lead(generator.permuted(table, axis=0).sum(axis=1)[None, :])[0] >= lead * (1 - 1e-12)
    return float(1 + hits) / (1 + rounds)


def _lead(totals):
    highest = numpy.sort(totals, axis=1)[:, -2:]
    return highest[:, 1] - highest[:, 0]


def _compare_gaps(values):
    """Returns the probability of the gap below the largest value. Long tails are expected: the logarithms of positive
    values must stand out as well."""
    samples = [values] + ([[math.log(value) for value in values]] if min(values) > 0 else [])
    return max(map(_compare_gap, samples))


def _compare_gap(values):
    ordered = sorted(values, reverse=True)
    gaps = [place * (upper - lower) for place, (upper, lower) in enumerate(zip(ordered, ordered[1:]), 1)]
    others = sum(gaps[1:])
    if not others:
        return 0.0 if gaps[0] else 1.0
    return (1 + gaps[0] / others) ** -(len(gaps) - 1)


# Series

def _test_series(sums):
    """Returns the tests of the whole series and of its largest groups, up to a number of points."""
    series = defaultdict(lambda: defaultdict(float))
    for (group, time), value in sums.items():
        series[""][time] += value
        if group:
            series[group][time] += value
    groups = sorted((group for group in series if group), key=lambda group: -sum(map(abs, series[group].values())))
    findings, points = [], 0
    for group in ["", *groups]:
        times = _sort_times(series[group])[-_MAX_POINTS:]
        points += len(times)
        if len(times) >= _LEAST_POINTS and points <= _ALL_POINTS:
            findings += test_series(_shorten(group), times, numpy.array([series[group][time] for time in times]))
    return findings


def test_series(subject, times, values):
    """Returns the tests of a series for a trend and for a change of its level. The one that fits the values worse is
    counted, but not shown: a trend has other levels at its ends."""
    count = len(values)
    centered = values - values.mean()
    if not numpy.abs(centered).max() > 1e-9 * max(1.0, float(numpy.abs(values).max())):
        return []
    steps = numpy.arange(count) - (count - 1) / 2
    slope = float(steps @ centered / (steps @ steps))
    left = numpy.arange(1, count)
    weights = numpy.sqrt(count / (left * (count - left)))

    def statistics(samples):
        jumps = numpy.abs(numpy.cumsum(samples, axis=1)[:, :-1]) * weights
        return numpy.abs(samples @ steps), jumps

    trend, jumps = statistics(centered[None, :])
    # Both ends need a second point.
    allowed = (left >= 2) & (left <= count - 2)
    jumps = numpy.where(allowed, jumps, 0)
    place = int(jumps[0].argmax()) + 1
    generator = numpy.random.default_rng(SEED)
    hits = numpy.ones(2)
    for _ in range(PERMUTATIONS // _CHUNK):
        samples = generator.permuted(numpy.broadcast_to(centered, (_CHUNK, count)), axis=1)
        found = statistics(samples)
        hits += [(found[0] >= trend[0] * (1 - 1e-12)).sum(),
                 (numpy.where(allowed, found[1], 0).max(axis=1) >= jumps[0].max() * (1 - 1e-12)).sum()]
    total = float(centered @ centered)
    explained = [slope * slope * float(steps @ steps) / total, float(jumps[0].max()) ** 2 / total]
    probabilities = hits / (PERMUTATIONS + 1)
    common = {"subject": subject, "points": count}
    return [
        {"kind": "trend", **common, "p": float(probabilities[0]), "slope": slope, "from": _shorten(times[0]),
         "to": _shorten(times[-1]), "first": float(values[0]), "last": float(values[-1]),
         "explained": 100 * explained[0], "effect": explained[0], "is_shown": explained[0] >= explained[1]},
        {"kind": "change_point", **common, "p": float(probabilities[1]), "from": _shorten(times[place]),
         "before": float(values[:place].mean()), "after": float(values[place:].mean()), "explained": 100 * explained[1],
         "effect": explained[1], "is_shown": explained[1] > explained[0]}]

