"""Findings: known series, noise, and columns that cannot be tested."""

import importlib.util
import itertools
import math
import random
import statistics
import tempfile
import time
import unittest
from pathlib import Path

import insights

MONTHS = [f"{2021 + month // 12}-{month % 12 + 1:02}-01" for month in range(36)]


def find(values):
    rows = [[month, f"{value}"] for month, value in zip(MONTHS, values)]
    return insights.find_insights(["month", "sales"], rows, "sales", time="month")


def noise(seed, count=36, size=10.0):
    generator = random.Random(seed)
    return [100 + generator.gauss(0, size) for _ in range(count)]


class InsightTest(unittest.TestCase):

    def test_trends_have_the_slope_of_a_regression(self):
        for seed in range(20):
            slope = (seed - 10 or 1) * 0.8
            values = [value + slope * place for place, value in enumerate(noise(seed, size=2.0))]
            found = find(values)
            self.assertEqual([finding["kind"] for finding in found], ["trend"], values)
            expected = statistics.linear_regression(range(36), values)
            self.assertAlmostEqual(found[0]["slope"], expected.slope, delta=1e-5 * abs(expected.slope))
            explained = 100 * statistics.correlation(range(36), values) ** 2
            self.assertAlmostEqual(found[0]["explained"], explained, delta=1e-3)
            self.assertEqual((found[0]["from"], found[0]["to"]), (MONTHS[0], MONTHS[35]))
            self.assertLessEqual(found[0]["p"], 0.01)

    def test_changes_are_found_where_the_level_changes(self):
        for seed in range(20):
            place = 6 + seed
            values = [value + (40 if index >= place else 0) for index, value in enumerate(noise(seed, size=4.0))]
            found = find(values)
            self.assertEqual([finding["kind"] for finding in found], ["change_point"], values)
            self.assertEqual(found[0]["from"], MONTHS[place])
            self.assertAlmostEqual(found[0]["before"], statistics.fmean(values[:place]), delta=0.001)
            self.assertAlmostEqual(found[0]["after"], statistics.fmean(values[place:]), delta=0.001)

    def test_probability_of_a_trend_is_that_of_the_t_test(self):
        # Of 12 points with r = 0.576, the two-sided t-test says 0.0500.
        steps = [place - 5.5 for place in range(12)]
        norm = math.sqrt(sum(step * step for step in steps))
        for r, expected in ((0.576, 0.05), (0.708, 0.01), (0.497, 0.10)):
            other = noise(4, 12, 1.0)
            mean = statistics.fmean(other)
            other = [value - mean for value in other]
            along = sum(value * step for value, step in zip(other, steps)) / norm ** 2
            other = [value - along * step for value, step in zip(other, steps)]
            size = math.sqrt(sum(value * value for value in other))
            values = [r * step / norm + math.sqrt(1 - r * r) * value / size for step, value in zip(steps, other)]
            trend = insights.test_series("", MONTHS[:12], insights.numpy.array(values))[0]
            self.assertAlmostEqual(trend["p"], expected, delta=0.25 * expected)

    def test_largest_group_stands_out(self):
        def ask(groups):
            rows = [[name, f"{value}"] for name, value in groups]
            return insights.find_insights(["region", "total"], rows, "total", "region")

        others = [(f"R{number}", 100.0 + number) for number in range(12)]
        found = ask([*others, ("East", 400.0)])
        expected = {"kind": "outstanding", "subject": "East", "value": 400, "next": "R11", "next_value": 111,
                    "share": round(100 * 400 / (400 + 1266), 4), "groups": 13}
        self.assertEqual({name: found[0][name] for name in expected}, expected)
        for groups in ([("a", 1), ("b", 9)], [(f"g{number}", 2.0 ** number) for number in range(12)]):
            self.assertEqual(ask(groups), [])
        for groups, evenness in ((others, 99.9784), ([(f"g{number}", 5.0) for number in range(12)], 100)):
            known = [(finding["kind"], finding["evenness"]) for finding in ask(groups)]
            self.assertEqual(known, [("evenness", evenness)])
        found = ask([*others, ("East", 20.0)])
        expected = {"kind": "outstanding_last", "subject": "East", "value": 20, "next": "R0", "next_value": 100}
        self.assertEqual({name: found[0][name] for name in expected}, expected)
        # Each month has nine values around 100, and one of twice as much.
        rows = [[f"G{group}", month, f"{value * (2 if group == 3 else 1)}"]
                for group in range(10) for month, value in zip(MONTHS[:12], noise(group, 12))]
        found = insights.find_insights(["g", "m", "v"], rows, "V", "g", "m")
        self.assertEqual([(finding["kind"], finding["subject"]) for finding in found], [("outstanding", "G3")])

    def test_majority_at_most_times_is_found(self):
        def ask(share):
            rows = [[f"G{group}", month, f"{share if group == 3 else (100 - share) / 4}"]
                    for month in MONTHS[:12] for group in range(5)]
            found = insights.find_insights(["g", "m", "v"], rows, "v", "g", "m")
            return [(finding["subject"], finding["share"], finding["times"], finding["points"])
                    for finding in found if finding["kind"] == "majority"]

        self.assertEqual(ask(60), [("G3", 60, 12, 12)])
        self.assertEqual(ask(40), [])

    def test_groups_that_change_together_are_found(self):
        common = noise(3, 24)
        rows = []
        for group, trend in enumerate((5, -5, 1, 0, 2)):
            own = noise(group + 40, 24, 1.0 if group < 2 else 10.0)
            for place, month in enumerate(MONTHS[:24]):
                value = 500 + own[place] + trend * place + (common[place] if group < 2 else 0)
                rows.append([f"G{group}", month, f"{value}"])
        found = insights.find_insights(["g", "m", "v"], rows, "v", "g", "m")
        pairs = [finding for finding in found if finding["kind"] == "correlation"]
        self.assertEqual([sorted((pair["subject"], pair["other"])) for pair in pairs], [["G0", "G1"]])
        self.assertGreater(pairs[0]["correlation"], 0.9)

    def test_findings_are_possible_from_the_least_points_on(self):
        def ask(count, groups=5, share=0.0, common=0.0, slope=0.0):
            rows, both = [], noise(3, count, 20.0)
            for group in range(groups):
                for place, value in enumerate(noise(group + 40, count, 0.3)):
                    value += slope * place + common * (both[place] if group < 2 else 0)
                    rows.append([f"G{group}", MONTHS[place], f"{value + share * (group == 3)}"])
            return {finding["kind"] for finding in insights.find_insights(["g", "m", "v"], rows, "v", "g", "m")}

        for count, options, kind, is_found in (
                (12, {"share": 500}, "majority", True), (11, {"share": 500}, "majority", False),
                (18, {"common": 1}, "correlation", True), (17, {"common": 1}, "correlation", False),
                (12, {"slope": 1, "groups": 60}, "trend", True)):
            self.assertEqual(kind in ask(count, **options), is_found, (count, options))

    def test_noise_has_at_most_one_finding_in_a_hundred_series(self):
        found = 0
        for seed in range(340):
            found += bool(find(noise(seed + 1_000, 24)))
            generator = random.Random(seed)
            groups = [[f"g{number}", f"{generator.lognormvariate(3, 1)}"] for number in range(10)]
            found += bool(insights.find_insights(["g", "v"], groups, "v", "g"))
            skewed = [generator.expovariate(0.1) for _ in range(18)]
            found += bool(find(skewed))
        self.assertLessEqual(found, 0.01 * 1_020)

    def test_noise_of_groups_over_time_is_even_and_nothing_else(self):
        found = []
        for seed in range(40):
            rows = [[f"g{group}", month, f"{value}"] for group in range(6)
                    for month, value in zip(MONTHS[:24], noise(100 * seed + group, 24))]
            found += [finding["kind"] for finding in insights.find_insights(["g", "m", "v"], rows, "v", "g", "m")]
        self.assertLessEqual(len([kind for kind in found if kind != "evenness"]), 1)

    def test_series_that_depend_on_their_past_have_no_correlation_by_chance(self):
        def make_series(generator, part):
            value, values = 0.0, []
            for _ in range(110):
                value = part * value + generator.gauss(0, 1)
                values.append(value)
            return insights.numpy.array(values[50:])

        # The part of a value that the next one keeps; with all of it, a series is a random walk.
        for part in (0.7, 1.0):
            found = 0
            for seed in range(100):
                generator = random.Random(seed)
                [pair] = insights.test_pair("a", "b", make_series(generator, part), make_series(generator, part))
                found += pair["p"] <= 0.01
            self.assertLessEqual(found, 1, part)

    def test_growth_along_the_same_kind_of_curve_is_no_correlation(self):
        numpy = insights.numpy

        def make_curve(generator, kind, count):
            steps = numpy.arange(count)
            if kind == "exponential":
                curve = numpy.exp(generator.uniform(1, 5) * steps / count)
                return 100 * curve / curve[-1]
            middle, width = count * generator.uniform(0.3, 0.7), count * generator.uniform(0.04, 0.17)
            return 100 / (1 + numpy.exp((middle - steps) / width))

        def count_found(kind, is_common, noise, is_share, count):
            found = 0
            for seed in range(50):
                generator = numpy.random.default_rng(seed)
                curves = [make_curve(generator, kind, count) for _ in range(2)]
                if is_common:
                    curves[1] = curves[0]
                pair = [curve + generator.normal(size=count) * (curve if is_share else 100) * noise for curve in curves]
                found += any(test["p"] <= 0.01 for test in insights.test_pair("a", "b", *pair))
            return found

        for kind, is_common in itertools.product(("exponential", "s"), (False, True)):
            cases = itertools.product((0.01, 0.1), (False, True), (24, 60))
            found = [count_found(kind, is_common, *case) for case in cases]
            self.assertLessEqual(sum(found), 0.01 * 50 * len(found), (kind, is_common))

    def test_correlated_changes_are_found_whatever_the_series_follow(self):
        numpy = insights.numpy
        steps = numpy.arange(36)
        courses = {"level": 0 * steps, "line": 3.0 * steps, "growth": 20 * numpy.exp(steps / 12),
                   "curve": 300 / (1 + numpy.exp((18 - steps) / 4))}
        for name, course in courses.items():
            found = 0
            for seed in range(20):
                generator = numpy.random.default_rng(seed)
                common = generator.normal(size=36)
                # The correlation is 0.9.
                pair = [1_000 + course + 20 * (common + generator.normal(size=36) / 3) for _ in range(2)]
                [test] = insights.test_pair("a", "b", *pair)
                found += test["p"] <= 0.01
            self.assertGreaterEqual(found, 18, name)

    def test_majority_of_shares_that_depend_on_their_past_is_rare(self):
        numpy = insights.numpy
        for part in (0.0, 0.5, 0.7):
            found = 0
            for seed in range(1_000):
                generator = numpy.random.default_rng(seed)
                values = [0.0]
                for _ in range(110):
                    values.append(part * values[-1] + generator.normal())
                shares = numpy.exp(values[-60:]) / (1 + numpy.exp(values[-60:]))
                table = numpy.array(sorted([shares, 1 - shares], key=sum, reverse=True))
                found += insights.test_majority("a", table)["p"] <= 0.01
            self.assertLessEqual(found, 0.01 * 1_000, part)

    def test_probabilities_are_corrected_by_holm(self):
        tests = [{"p": p} for p in (0.04, 0.01, 0.03, 0.005)]
        insights.correct_probabilities(tests)
        self.assertEqual([round(test["p"], 9) for test in tests], [0.06, 0.03, 0.06, 0.02])

    def test_many_groups_over_a_long_time_take_less_than_five_seconds(self):
        rows = [[f"g{group}", f"{day}", f"{value}"] for group in range(100)
                for day, value in enumerate(noise(group, 1_000))]
        start = time.process_time()
        insights.find_insights(["g", "d", "v"], rows, "v", "g", "d")
        self.assertLess(time.process_time() - start, 5)

    def test_columns_that_cannot_be_tested_are_errors(self):
        rows = [["East", "1.0", "x", "", "inf"]]
        names = ["region", "total", "word", "empty", "large"]
        for asked, code, name in (
                (("totl", "region"), "unknown_column", "totl"), (("total", None, "day"), "unknown_column", "day"),
                (("word", "region"), "no_number", "word"), (("large", "region"), "no_number", "large"),
                (("total",), "no_groups", "")):
            with self.assertRaises(insights.InsightError) as raised:
                insights.find_insights(names, rows, *asked)
            self.assertEqual((raised.exception.code, raised.exception.name), (code, name))
        self.assertEqual(insights.find_insights(names, rows, "empty", "region"), [])
        self.assertEqual(insights.find_insights(names, [], "total", "region"), [])

    def test_rows_of_a_file_are_read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "query-1.csv")
            path.write_text("day,sales\n" + "".join(f"{day},{day * 3}\n" for day in range(12)), encoding="utf-8")
            found = insights.read_insights(path, "sales", None, "day")["findings"]
            known = [(finding["kind"], finding["slope"], finding["to"]) for finding in found]
            self.assertEqual(known, [("trend", 3, "11")])
            problem = insights.read_insights(path, "x", None, "day")
            self.assertEqual((problem["problem"], problem["name"]), ("unknown_column", "x"))


class AgainstScipy(unittest.TestCase):
    """40 series whose numbers SciPy computes as well; the step `data` installs it for this test alone."""

    def test_numbers_of_forty_series_are_those_of_scipy(self):
        if importlib.util.find_spec("scipy") is None:
            self.skipTest("needs SciPy: cargo verify --only data")
        from scipy import stats

        for seed in range(16):
            count = 12 + 3 * seed
            values = [value + seed * place * 0.2 for place, value in enumerate(noise(seed + 50, count))]
            trend = insights.test_series("", [f"{place}" for place in range(count)], insights.numpy.array(values))[0]
            known = stats.linregress(range(count), values)
            self.assertAlmostEqual(trend["slope"], known.slope, delta=1e-9 * abs(known.slope))
            self.assertAlmostEqual(trend["explained"], 100 * known.rvalue ** 2, delta=1e-6)
            self.assert_near(trend["p"], known.pvalue)
        for seed in range(12):
            values = insights.numpy.array(noise(seed + 80, 24))
            values[8 + seed % 5:] += seed * 2.0
            change = insights.test_series("", [f"{place}" for place in range(24)], values)[1]

            def jump(samples, axis=-1):
                centered = insights.numpy.moveaxis(samples, axis, -1)
                centered = centered - centered.mean(axis=-1, keepdims=True)
                left = insights.numpy.arange(1, 24)
                jumps = abs(centered.cumsum(axis=-1)[..., :-1]) * insights.numpy.sqrt(24 / (left * (24 - left)))
                return jumps[..., 1:-1].max(axis=-1)

            # Of all pairs, one sample is shuffled against the other: the places of the values.
            def shuffled(samples, places, axis=-1):
                order = insights.numpy.argsort(places, axis=axis)
                return jump(insights.numpy.take_along_axis(samples, order, axis), axis)

            known = stats.permutation_test((values, insights.numpy.arange(24.0)), shuffled, permutation_type="pairings",
                                           vectorized=True, n_resamples=4_999, alternative="greater", rng=seed)
            self.assert_near(change["p"], known.pvalue)
            place = int(change["from"])
            self.assertAlmostEqual(change["before"], stats.tmean(values[:place]), delta=1e-9)
            self.assertAlmostEqual(change["after"], stats.tmean(values[place:]), delta=1e-9)
        for seed in range(12):
            generator = random.Random(seed)
            totals = sorted((100 + generator.expovariate(1 / 20) for _ in range(6 + seed)), reverse=True)
            totals[0] += 10 * seed
            gaps = [place * (upper - lower) for place, (upper, lower) in enumerate(zip(totals, totals[1:]), 1)]
            logarithms = [math.log(value) for value in totals]
            logarithmic = [place * (upper - lower) for place, (upper, lower) in enumerate(zip(logarithms, logarithms[1:]), 1)]
            # The share of the first of n equal exponential gaps has this distribution.
            known = max(stats.beta.sf(sample[0] / sum(sample), 1, len(sample) - 1) for sample in (gaps, logarithmic))
            self.assertAlmostEqual(insights._compare_gaps(totals), known, delta=1e-9)

    def test_numbers_of_groups_are_those_of_scipy(self):
        if importlib.util.find_spec("scipy") is None:
            self.skipTest("needs SciPy: cargo verify --only data")
        from scipy import linalg, stats

        for seed in range(12):
            generator = random.Random(seed)
            values = sorted((generator.uniform(1 + seed, 20) for _ in range(5 + seed)), reverse=True)
            found = insights.test_evenness(values)
            entropy = stats.entropy(values, base=len(values))
            self.assertAlmostEqual(found["evenness"], 100 * entropy, delta=1e-9)
            shares = stats.dirichlet([1] * len(values)).rvs(9_999, random_state=seed)
            known = (1 + (stats.entropy(shares, base=len(values), axis=1) >= entropy).sum()) / 10_000
            self.assert_near(found["p"], known)
        for seed in range(12):
            pair = [insights.numpy.array(noise(2 * seed + number, 24)) for number in range(2)]
            pair[1] += seed * 0.1 * pair[0]
            known = stats.pearsonr(*(values[1:] - values[:-1] for values in pair))
            [found] = insights.test_pair("a", "b", *pair)
            self.assertAlmostEqual(found["correlation"], known.statistic, delta=1e-9)
            # The past of a change of changes: the two before.
            changes = [insights.numpy.diff(values, 2) for values in pair]
            pasts = [insights.numpy.column_stack([insights.numpy.ones(20), values[1:-1], values[:-2]]) for values in changes]
            rests = [values[2:] - past @ linalg.pinv(past) @ values[2:] for values, past in zip(changes, pasts)]
            rests = [values / linalg.norm(values) for values in rests]
            for values, own in zip(pair, rests):
                self.assertLess(abs(insights._leave_past(values) - own).max(), 1e-6)
            known = stats.permutation_test((rests[0] * rests[1],), insights.numpy.sum, permutation_type="samples",
                                           vectorized=True, n_resamples=9_999, rng=seed)
            self.assert_near(insights.flip_signs(*rests), known.pvalue)
            # Points that do not depend on each other, of which Fisher's transformation knows the number.
            white = [insights.numpy.array(noise(2 * seed + number, 24)) for number in range(2)]
            white = [(values - values.mean()) / linalg.norm(values - values.mean()) for values in white]
            known = stats.norm.sf(abs(insights.numpy.arctanh(white[0] @ white[1])), scale=1 / insights.numpy.sqrt(21))
            self.assertGreaterEqual(insights.test_correlation(*white), 2 * known * (1 - 1e-9))
        for hits in range(13):
            table = insights.numpy.array([[3.0] * hits + [1.0] * (12 - hits), [2.0] * 12])
            found = insights.test_majority("a", table)
            count = insights._count_independent(table[0] / table.sum(axis=0))
            known = stats.binomtest(hits * count // 12, count, 0.5, alternative="greater").pvalue
            self.assertAlmostEqual(found["p"], min(1, 2 * known), delta=1e-12)

    def assert_near(self, p, known):
        """Two estimates by thousands of permutations, or by a t-test, of the same probability."""
        self.assertLess(abs(p - known), 0.004 + 0.15 * known)


if __name__ == "__main__":
    unittest.main()
