"""Drawings of simple shapes, which become SVG or a PNG."""

import html

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

    def text(self, x, y, text, size, color="ink", anchor="start", is_bold=False):
        self.shapes.append(("text", (x, y, text, size, anchor, is_bold), color, 1))

    def to_svg(self, fonts=()):
        """Returns the drawing as an SVG element, which takes the page's font; with `fonts` (names), as a file."""
        told = html.escape(self.description)
        alone = (f'xmlns="http://www.w3.org/2000/svg" width="{self.width:g}" height="{self.height:g}" '
                 f'color="#{house.INK}" font-family="{", ".join(fonts)}" ') if fonts else ""
        parts = [f'<svg {alone}viewBox="0 0 {self.width:g} {self.height:g}" role="img" aria-label="{told}">']
        parts += [_svg_shape(*shape) for shape in self.shapes]
        return "".join(parts) + "</svg>"

    def to_png(self, fonts, scale=2.5):
        """Returns the bytes of a PNG with `scale` pixels per point; `fonts` are paths."""
        from typesetting import FONTS, typeset

        page = (f'#set page(width: {self.width:f}pt, height: {self.height:f}pt, margin: 0pt)\n'
                '#image("drawing.svg", width: 100%)')
        return typeset(page, {"drawing.svg": self.to_svg(FONTS).encode()}, fonts, format="png", ppi=72 * scale)


def _svg_shape(kind, form, color, more):
    fill = _SVG_NAMED.get(color) or f'fill="#{_NAMED.get(color, color)}"'
    if kind == "text":
        x, y, text, size, anchor, is_bold = form
        weight = ' font-weight="600"' if is_bold else ""
        return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" text-anchor="{anchor}"{weight} {fill}>'
                f'{html.escape(text)}</text>')
    if kind == "circle":
        return f'<circle cx="{form[0]:.1f}" cy="{form[1]:.1f}" r="{form[2]:g}" {fill}/>'
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
