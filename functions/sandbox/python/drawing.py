"""Drawings of simple shapes, which become SVG, a part of a PDF, or a PNG."""

import html
import io

import house

# Colors by name; others are RRGGBB. In SVG, these follow the text of the page, so that dark pages stay readable.
_NAMED = {"ink": house.INK, "soft": house.SOFT_INK, "grid": house.GRID, "paper": "FFFFFF"}
_SVG_NAMED = {"ink": 'fill="currentColor"', "soft": 'fill="currentColor" fill-opacity="0.68"'}
# The width of a Latin letter, as a share of the font size.
LETTER = 0.54


class Drawing:
    """Shapes on `width` by `height` points, with y downward; `description` is for readers who do not see them."""

    def __init__(self, width, height, description):
        self.width, self.height, self.description, self.shapes = width, height, description, []

    def polygon(self, points, color, opacity=1.0):
        self.shapes.append(("polygon", points, color, opacity))

    def rect(self, x, y, width, height, color):
        self.polygon([(x, y), (x + width, y), (x + width, y + height), (x, y + height)], color)

    def line(self, points, color, width=1.0):
        self.shapes.append(("line", points, color, width))

    def circle(self, x, y, radius, color):
        self.shapes.append(("circle", (x, y, radius), color, 1))

    def outline(self, steps, color):
        """Adds a filled outline of `("M"|"L"|"C"|"Z", [(x, y)…])`."""
        self.shapes.append(("outline", steps, color, 1))

    def text(self, x, y, text, size, color="ink", anchor="start", is_bold=False):
        self.shapes.append(("text", (x, y, text, size, anchor, is_bold), color, 1))

    def to_svg(self):
        """Returns the drawing as an SVG element, which takes the page's font."""
        told = html.escape(self.description)
        parts = [f'<svg viewBox="0 0 {self.width:g} {self.height:g}" role="img" aria-label="{told}">']
        parts += [_svg_shape(*shape) for shape in self.shapes]
        return "".join(parts) + "</svg>"

    def draw(self, canvas, fonts):
        """Draws on a canvas of reportlab, whose origin is the lower left corner of the drawing."""
        for kind, form, color, more in self.shapes:
            paint = f"#{_NAMED.get(color, color)}"
            canvas.setFillColor(paint)
            canvas.setStrokeColor(paint)
            if kind == "text":
                x, y, text, size, anchor, is_bold = form
                parts = list(fonts.parts(text, is_bold, paint.lstrip("#"), size=size))
                wide = sum(canvas.stringWidth(part, font, size) for part, font in parts)
                x -= wide * {"start": 0, "middle": 0.5, "end": 1}[anchor]
                for part, font in parts:
                    canvas.setFont(font, size)
                    canvas.drawString(x, self.height - y, part)
                    x += canvas.stringWidth(part, font, size)
            elif kind == "circle":
                canvas.circle(form[0], self.height - form[1], form[2], stroke=0, fill=1)
            else:
                self._draw_path(canvas, kind, form, more)

    def _draw_path(self, canvas, kind, form, more):
        path = canvas.beginPath()
        steps = form if kind == "outline" else [("M", form[:1]), *(("L", [point]) for point in form[1:])]
        for step, points in steps:
            flat = [edge for x, y in points for edge in (x, self.height - y)]
            if step == "Z":
                path.close()
            else:
                {"M": path.moveTo, "L": path.lineTo, "C": path.curveTo}[step](*flat)
        canvas.saveState()
        if kind == "line":
            canvas.setLineWidth(more)
            canvas.setLineCap(1)
            canvas.setLineJoin(1)
        else:
            canvas.setFillAlpha(more)
        canvas.drawPath(path, stroke=kind == "line", fill=kind != "line")
        canvas.restoreState()

    def to_png(self, fonts, scale=2.5):
        """Returns the bytes of a PNG with `scale` pixels per point."""
        import pypdfium2
        from reportlab.pdfgen.canvas import Canvas

        written = io.BytesIO()
        canvas = Canvas(written, (self.width, self.height), invariant=1)
        self.draw(canvas, fonts)
        canvas.save()
        page = pypdfium2.PdfDocument(written.getvalue())[0]
        picture = io.BytesIO()
        page.render(scale=scale).to_pil().convert("RGB").save(picture, "PNG", optimize=True)
        return picture.getvalue()


def _svg_shape(kind, form, color, more):
    fill = _SVG_NAMED.get(color) or f'fill="#{_NAMED.get(color, color)}"'
    if kind == "text":
        x, y, text, size, anchor, is_bold = form
        weight = ' font-weight="600"' if is_bold else ""
        return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" text-anchor="{anchor}"{weight} {fill}>'
                f'{html.escape(text)}</text>')
    if kind == "circle":
        return f'<circle cx="{form[0]:.1f}" cy="{form[1]:.1f}" r="{form[2]:g}" {fill}/>'
    if kind == "outline":
        told = "".join(step + " ".join(f"{x:.2f} {y:.2f}" for x, y in points) for step, points in form)
        return f'<path d="{told}" {fill}/>'
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in form)
    if kind == "polygon":
        opacity = f' fill-opacity="{more:g}"' if more < 1 else ""
        return f'<polygon points="{points}" {fill}{opacity}/>'
    stroke = "currentColor" if color in ("ink", "grid") else f"#{_NAMED.get(color, color)}"
    opacity = ' stroke-opacity="0.14"' if color == "grid" else ""
    return (f'<polyline points="{points}" fill="none" stroke="{stroke}" stroke-width="{more:g}"{opacity} '
            f'stroke-linejoin="round" stroke-linecap="round"/>')


def shortened(text, width, size):
    """Returns a text that fits a width, cut with an ellipsis if needed."""
    letters = max(2, width / (size * LETTER))
    if house.text_width(text) <= letters:
        return text
    while text and house.text_width(text) > letters - 1:
        text = text[:-1]
    return text.rstrip() + "…"
