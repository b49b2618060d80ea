"""Charts of PowerPoint, which stay editable."""

import house
from chart import is_horizontal, number
from drawing import LETTER
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.dml.color import RGBColor
from pptx.enum.chart import XL_CHART_TYPE, XL_LABEL_POSITION, XL_LEGEND_POSITION, XL_TICK_LABEL_POSITION
from pptx.util import Pt

_TYPES = {"bar": (XL_CHART_TYPE.COLUMN_CLUSTERED, XL_CHART_TYPE.COLUMN_STACKED), "line": (XL_CHART_TYPE.LINE,) * 2,
          "row": (XL_CHART_TYPE.BAR_CLUSTERED, XL_CHART_TYPE.BAR_STACKED), "pie": (XL_CHART_TYPE.DOUGHNUT,) * 2,
          "area": (XL_CHART_TYPE.AREA, XL_CHART_TYPE.AREA_STACKED), "scatter": (XL_CHART_TYPE.XY_SCATTER,) * 2}
# The font size of values.
_SIZE = 13


def add_chart(shapes, chart, left, top, width, height):
    """Adds a chart to the shapes of a slide, at a place in points."""
    kind = "row" if is_horizontal(chart, width) else chart.kind
    if kind == "scatter":
        data = XyChartData()
        for name, points in chart.series:
            series = data.add_series(name)
            for x, y in points:
                series.add_data_point(x, y)
    else:
        data = CategoryChartData()
        data.categories = chart.labels
        for name, values in chart.series:
            data.add_series(name or chart.title, values)
    frame = shapes.add_chart(_TYPES[kind][chart.is_stacked], *(Pt(edge) for edge in (left, top, width, height)), data)
    frame._element.nvGraphicFramePr.cNvPr.set("descr", chart.description()[:500])
    drawn = frame.chart
    # The library's ids of axes are negative; the schema wants no sign, and LibreOffice reads 31 bits.
    for id_of in drawn._chartSpace.xpath("//c:axId | //c:crossAx"):
        id_of.set("val", f"{int(id_of.get('val')) % 2**31}")
    drawn.has_title = False
    drawn.font.size, drawn.font.name = Pt(13), house.LATIN
    drawn.font.color.rgb = RGBColor.from_string(house.SOFT_INK)
    drawn.has_legend = len(chart.series) > 1 or kind == "pie"
    if drawn.has_legend:
        drawn.legend.include_in_layout = False
        drawn.legend.position = XL_LEGEND_POSITION.RIGHT if kind == "pie" else XL_LEGEND_POSITION.TOP
        drawn.legend.font.size = Pt(14)
    if kind != "pie":
        _shape_axes(drawn, kind, chart)
    _shape_series(drawn, kind, chart, width)


def _shape_axes(drawn, kind, chart):
    values, labels = drawn.value_axis, drawn.category_axis
    values.format.line.fill.background()
    values.major_gridlines.format.line.color.rgb = RGBColor.from_string(house.GRID)
    values.tick_labels.number_format, values.tick_labels.number_format_is_linked = "#,##0.##;−#,##0.##", False
    if all(value is None or value == int(value) for _, one in chart.series for value in
           (one if kind != "scatter" else [])):
        values.tick_labels.number_format = "#,##0;−#,##0"
    labels.format.line.color.rgb = RGBColor.from_string(house.LINES)
    labels.tick_label_position = XL_TICK_LABEL_POSITION.LOW
    labels.has_major_gridlines = False
    if kind == "row":
        labels.reverse_order = True
        values.visible = values.has_major_gridlines = False
    for axis, text in ((labels, chart.axes[0]), (values, chart.axes[1])) if kind == "scatter" else ():
        axis.has_title = bool(text)
        if text:
            axis.axis_title.text_frame.text = text
            axis.axis_title.text_frame.paragraphs[0].runs[0].font.size = Pt(12)
            axis.axis_title.text_frame.paragraphs[0].runs[0].font.bold = False


def _shape_series(drawn, kind, chart, width):
    plot = drawn.plots[0]
    if kind in ("bar", "row"):
        plot.gap_width, plot.overlap = 55, 100 if chart.is_stacked else -8
    count = sum(len(values) for _, values in chart.series)
    widest = max((len(number(value or 0)) for _, values in chart.series for value in values), default=0) \
        if kind == "bar" else 0
    # A bar with less room than its value shows none.
    room = (width - 60) / max(1, len(chart.labels)) / (len(chart.series) + 0.55)
    has_room = kind == "row" and count <= 24 or kind == "bar" and widest * _SIZE * LETTER + 3 <= room
    if kind == "pie" or has_room and not chart.is_stacked:
        plot.has_data_labels = True
        labels = plot.data_labels
        labels.font.size = Pt(_SIZE)
        if kind == "pie":
            labels.show_percentage, labels.show_value = True, False
            labels.font.color.rgb, labels.font.bold = RGBColor(255, 255, 255), True
            labels.number_format, labels.number_format_is_linked = "0 %", False
        else:
            labels.number_format, labels.number_format_is_linked = "#,##0.##;−#,##0.##", False
            labels.position = XL_LABEL_POSITION.OUTSIDE_END
            if all(value is None or value == int(value) for _, values in chart.series for value in values):
                labels.number_format = "#,##0;−#,##0"
    for place, series in enumerate(plot.series):
        color = RGBColor.from_string(house.SERIES[place % len(house.SERIES)])
        if kind == "line":
            series.smooth = False
            series.format.line.width, series.format.line.color.rgb = Pt(3), color
        elif kind == "scatter":
            series.format.line.fill.background()
            series.marker.style, series.marker.size = 8, 10
            series.marker.format.fill.solid()
            series.marker.format.fill.fore_color.rgb = color
            series.marker.format.line.fill.background()
        elif kind == "pie":
            for at in range(len(chart.labels)):
                fill = series.points[at].format.fill
                fill.solid()
                fill.fore_color.rgb = RGBColor.from_string(house.SERIES[at] if at < len(house.SERIES) else house.LINES)
        else:
            series.invert_if_negative = False if kind != "area" else None
            series.format.fill.solid()
            series.format.fill.fore_color.rgb = color
