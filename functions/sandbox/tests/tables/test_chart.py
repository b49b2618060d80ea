"""Blocks `chart`: documents draw the same ones as the web page, which reads the same list."""

import json
import os
import tomllib
import unittest

from chart import MAX_POINTS, BadChart, draw_chart, read_chart

LIST = os.path.join(os.path.dirname(__file__), "chart_blocks.toml")


class TestChart(unittest.TestCase):
    def test_listed_blocks_are_charts_or_not(self):
        with open(LIST, "rb") as file:
            listed = tomllib.load(file)
        for name, block in listed["charts"].items():
            with self.subTest(name):
                self.assertIn("<svg", draw_chart(read_chart(block, "en")).to_svg())
        for name, block in listed["others"].items():
            with self.subTest(name):
                self.assertRaises(BadChart, read_chart, block, "en")

    def test_of_too_many_points_the_first_are_drawn(self):
        points = [[at, at] for at in range(MAX_POINTS + 1)]
        chart = read_chart(json.dumps({"type": "scatter", "series": [{"points": points}]}), "en")
        self.assertEqual(chart.series[0][1][-1], (MAX_POINTS - 1, MAX_POINTS - 1))
