"""Findings in the rows of a query: groups that stand out, are even or have the majority, trends, changes of level, and
groups that change together.

The probability of a finding comes from permutations of the values with a fixed seed, and is corrected by Holm's method
for all tests of a call. One value for each group leaves nothing to permute: then the largest or smallest one is
compared with the gaps between the others, as in samples of an exponential distribution, and the shares of all with
shares at random. A majority is tested by signs, and groups that change together by random signs and by Fisher's
transformation: both allow for values that depend on the values before.
"""

import csv
import difflib
import itertools
import math
from collections import defaultdict

import numpy

PERMUTATIONS, SEED, MAX_P = 9_999, 2016, 0.01
# Points of a series, below which nothing is tested and above which the newest count; all points; findings.
_LEAST_POINTS, _MAX_POINTS, _ALL_POINTS, _MAX_FINDINGS = 6, 400, 2_000, 20
# Groups, below which nothing is tested; the largest ones, whose series are tested; those compared two at a time. Up to
# 96 tests, the correction leaves the smallest p of the permutations below the maximum.
_LEAST_GROUPS, _MAX_SERIES, _PAIRED_GROUPS = 5, 40, 5
# Fewer times or points of five groups cannot have a majority or a correlation: the number of signs is too small.
_LEAST_TIMES, _LEAST_PAIRED_POINTS = 12, 18
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
    """Returns findings, best first: objects with `kind` (`outstanding`, `outstanding_last`, `majority`, `evenness`,
    `trend`, `change_point` or `correlation`), `subject` (a value of the dimension, or empty), `p`, and their numbers.

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
    """Returns the tests of the largest and the smallest group and of all shares, if there are enough groups."""
    by_group = defaultdict(dict)
    for (group, time), value in sums.items():
        by_group[group][time] = value
    totals = {group: sum(values.values()) for group, values in by_group.items()}
    if len(totals) < _LEAST_GROUPS or min(totals.values()) < 0:
        return []
    ranked = sorted(totals, key=totals.get, reverse=True)
    times = _sort_times({time for _, time in sums})
    table = numpy.array([[by_group[group].get(time, 0.0) for time in times] for group in ranked])
    total = math.fsum(totals.values())
    values = sorted(totals.values(), reverse=True)
    findings = []
    for kind, order, sign in (("outstanding", ranked, 1), ("outstanding_last", ranked[::-1], -1)):
        first, second = order[:2]
        p = _permute_groups(sign * table) if len(times) >= _LEAST_POINTS else _compare_gaps(values, sign)
        larger = max(totals[first], totals[second])
        findings.append({
            "kind": kind, "subject": _shorten(first), "p": p, "value": totals[first], "next": _shorten(second),
            "next_value": totals[second], "share": 100 * totals[first] / total if total else 0.0, "groups": len(totals),
            "effect": abs(totals[first] - totals[second]) / larger if larger else 0.0})
    if total and len(values) <= _ALL_POINTS:
        findings.append(test_evenness(values))
    if total and len(times) >= _LEAST_TIMES:
        findings.append(test_majority(_shorten(ranked[0]), table))
    return findings


def test_evenness(values):
    """Returns the test of shares for their entropy, among shares that are drawn at random. It is not shown if the
    smallest value is less than two thirds of the largest."""
    values = numpy.array(values)
    generator = numpy.random.default_rng(SEED)

    def evenness(samples):
        shares = samples / samples.sum(axis=1, keepdims=True)
        return -(shares * numpy.log(numpy.maximum(shares, 1e-300))).sum(axis=1) / math.log(len(values))

    found = float(evenness(values[None, :])[0])
    hits = 1
    for _ in range(PERMUTATIONS // _CHUNK):
        hits += (evenness(generator.exponential(size=(_CHUNK, len(values)))) >= found).sum()
    return {"kind": "evenness", "subject": "", "p": float(hits) / (PERMUTATIONS + 1), "groups": len(values),
            "least": float(values.min()), "most": float(values.max()), "evenness": 100 * found, "effect": found,
            "is_shown": bool(3 * values.min() >= 2 * values.max())}


def test_majority(subject, table):
    """Returns the sign test of the largest group for more than half of all at most times. Two groups may have half
    each, so the probability counts twice. Shares that depend on the shares before count as fewer times."""
    sums = table.sum(axis=0)
    shares = table[0, sums > 0] / sums[sums > 0]
    count, hits = len(shares), int((shares > 0.5).sum())
    independent = _count_independent(shares)
    least = math.floor(hits * independent / count)
    p = 2 * sum(math.comb(independent, number) for number in range(least, independent + 1)) / 2 ** independent
    share = float(table[0].sum() / sums.sum())
    return {"kind": "majority", "subject": subject, "p": min(1.0, p), "share": 100 * share, "times": hits,
            "points": count, "effect": share}


def _count_independent(values):
    """Returns the number of independent values in a series whose values depend on the one before. The correlation of
    neighbours is corrected for its bias in short series, by Kendall's formula."""
    scaled, count = _scale(values), len(values)
    if scaled is None:
        return count
    r = float(scaled[1:] @ scaled[:-1])
    r = min(1.0, max(0.0, r + (1 + 3 * r) / count))
    return max(1, round(count * (1 - r) / (1 + r)))


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


def _compare_gaps(values, sign=1):
    """Returns the probability of the gap below the largest value, or above the smallest if `sign` is -1. Long tails are
    expected: the logarithms of positive values must stand out as well."""
    samples = [values] + ([[math.log(value) for value in values]] if min(values) > 0 else [])
    return max(_compare_gap([sign * value for value in sample]) for sample in samples)


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
    for group in ["", *groups[:_MAX_SERIES]]:
        times = _sort_times(series[group])[-_MAX_POINTS:]
        points += len(times)
        if len(times) >= _LEAST_POINTS and points <= _ALL_POINTS:
            findings += test_series(_shorten(group), times, numpy.array([series[group][time] for time in times]))
    for one, other in itertools.combinations(groups[:_PAIRED_GROUPS], 2):
        times = _sort_times(series[one].keys() & series[other].keys())[-_MAX_POINTS:]
        if len(times) >= _LEAST_PAIRED_POINTS:
            pair = [numpy.array([series[group][time] for time in times]) for group in (one, other)]
            findings += test_pair(_shorten(one), _shorten(other), *pair)
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


def test_pair(subject, other, values, other_values):
    """Returns the test of two series for a correlation of their changes from one point to the next.

    Random series often look alike: their values depend on the values before, or both grow along a curve. Thus the
    changes must be correlated, and so must the parts of the changes of changes that the past does not explain, both also
    of the logarithms of positive values. The largest probability counts.
    """
    samples = [(values, other_values)]
    if min(values.min(), other_values.min()) > 0:
        samples.append((numpy.log(values), numpy.log(other_values)))
    pairs = [[rest(series) for series in pair] for pair in samples for rest in (_scale_changes, _leave_past)]
    if any(series is None for pair in pairs for series in pair):
        return []
    r = float(pairs[0][0] @ pairs[0][1])
    p = max(test_correlation(*pair) for pair in pairs)
    if p <= MAX_P:
        p = max(p, *(flip_signs(*pair) for pair in pairs))
    return [{"kind": "correlation", "subject": subject, "other": other, "p": p, "correlation": r,
             "points": len(values), "effect": r * r}]


def flip_signs(one, other):
    """Returns the probability that the products of two scaled series have as large a sum with random signs: a few large
    products are no correlation."""
    generator = numpy.random.default_rng(SEED)
    products = one * other
    least = abs(float(products.sum())) * (1 - 1e-12)
    hits = 1
    for _ in range(PERMUTATIONS // _CHUNK):
        signs = 1.0 - 2 * generator.integers(2, size=(_CHUNK, len(products)))
        hits += (numpy.abs(signs @ products) >= least).sum()
    return float(hits) / (PERMUTATIONS + 1)


def test_correlation(one, other):
    """Returns the probability of the correlation of two scaled series by Fisher's transformation, with Bartlett's number
    of independent points."""
    autocorrelations = [numpy.correlate(series, series, "full")[len(series):] for series in (one, other)]
    points = len(one) / max(1.0, 1 + 2 * float(autocorrelations[0] @ autocorrelations[1]))
    r = min(abs(float(one @ other)), 1 - 1e-9)
    return math.erfc(math.atanh(r) * math.sqrt(max(0.0, points - 3) / 2))


def _scale_changes(values):
    return _scale(numpy.diff(values))


def _leave_past(values):
    """Returns the scaled differences between the changes of changes from the third on and their regression on the two
    before, or None if there are no differences."""
    values = _scale(values)
    if values is None:
        return None
    changes = numpy.diff(values, 2)
    last = changes[2:]
    past = numpy.column_stack([numpy.ones(len(last)), changes[1:-1], changes[:-2]])
    return _scale(last - past @ numpy.linalg.lstsq(past, last, rcond=None)[0], 1.0)


def _scale(values, size=None):
    """Returns the distances from the mean with a length of 1, or None if they are too small beside `size`, or else
    beside the largest value."""
    rest = values - values.mean()
    length = float(numpy.sqrt(rest @ rest))
    return rest / length if length > 1e-9 * (size or max(1.0, float(numpy.abs(values).max()))) else None
