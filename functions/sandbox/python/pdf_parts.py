"""Parts of PDF documents that reportlab does not have."""

from reportlab.lib.colors import HexColor
from reportlab.platypus import Paragraph
from reportlab.platypus.flowables import Flowable

import house


class Bookmark(Flowable):
    """An entry of the outline, and of the contents if `is_listed`, without height."""

    def __init__(self, key, title, level, is_listed=True):
        super().__init__()
        self.key, self.title, self.level, self.is_listed = key, title, level, is_listed
        self.keepWithNext = self.is_heading = True

    def wrap(self, *_):
        return 0, 0

    def draw(self):
        canvas = self.canv
        canvas.bookmarkHorizontal(self.key, 0, 30)
        level = min(self.level, getattr(canvas, "djinn_level", -1) + 1)
        canvas.djinn_level = level
        canvas.addOutlineEntry(self.title, self.key, level, closed=level > 0)


class Quotation(Paragraph):
    """A paragraph with a line at its left."""

    def draw(self):
        self.canv.setFillColor(HexColor(f"#{house.SECOND}"))
        self.canv.rect(self.style.leftIndent - 12, -2, 2.5, self.height + 2, stroke=0, fill=1)
        super().draw()


class DrawnFlowable(Flowable):
    """A `drawing.Drawing`, made larger or smaller."""

    def __init__(self, drawing, fonts, scale):
        super().__init__()
        self.drawing, self.fonts, self.scale = drawing, fonts, scale
        self.width, self.height = drawing.width * scale, drawing.height * scale

    def draw(self):
        self.canv.scale(self.scale, self.scale)
        self.drawing.draw(self.canv, self.fonts)
