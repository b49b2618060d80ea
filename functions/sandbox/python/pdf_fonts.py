"""Embedded fonts of PDF documents: bold letters are drawn with an outline, and slanted ones from sheared glyphs."""

import copy
import io
import os
import weakref

import matplotlib
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFont

# Replacements for Chinese characters without a font, in every PDF reader.
_UNEMBEDDED = "STSong-Light"
# Letters that show nothing: joiners, and marks of emoji.
_SILENT = "\u200b\u200d\u2060\ufe0e\ufe0f\u202a\u202c\u202d\u202e"
# The slant of italic letters, and the width of the outline of bold ones, as a share of the font size.
_SLANT, _OUTLINE = 0.2, 0.027


class _Styled:
    """A font that first sets how its letters are painted. The operators stand before the font's name in the page."""

    def __init__(self, font, name, operators):
        self.font, self.fontName, self.operators = font, name, operators

    def __getattr__(self, name):
        return getattr(self.font, name)

    def getSubsetInternalName(self, subset, document):
        return f"{self.operators} {self.font.getSubsetInternalName(subset, document)}"


class Fonts:
    """The fonts of letters: the first given font, then matplotlib's, then the other given fonts, which are large."""

    def __init__(self, paths):
        ttf = os.path.join(matplotlib.get_data_path(), "fonts", "ttf")
        self.code = f"{ttf}/DejaVuSansMono.ttf"
        self.unread, self.faces, self.known = [*paths[:1], f"{ttf}/DejaVuSans.ttf", *paths[1:]], [], {}
        self.slanted, self.names = None, {}
        pdfmetrics.registerFont(UnicodeCIDFont(_UNEMBEDDED))
        self.first = self._name(self._read_next(), False, "000000", 10)

    def _read_next(self, path=None):
        font = TTFont(f"Djinn{len(self.faces)}", path or self.unread.pop(0))
        self.faces.append(font)
        return font

    def _face(self, letter, is_italic, is_code):
        """Returns the font with a letter, or None."""
        key = (letter, is_italic and letter < "\u0250", is_code and letter < "\u2e80")
        if key not in self.known:
            self.known[key] = self._look_for(letter, *key[1:])
        return self.known[key]

    def _look_for(self, letter, is_italic, is_code):
        if is_code:
            if isinstance(self.code, str):
                self.code = TTFont("DjinnCode", self.code)
            if ord(letter) in self.code.face.charToGlyph:
                return self.code
        if is_italic:
            self.slanted = self.slanted or _slant(self.faces[0])
            return self.slanted
        for font in self.faces:
            if ord(letter) in font.face.charToGlyph:
                return font
        while self.unread:
            font = self._read_next()
            if ord(letter) in font.face.charToGlyph:
                return font
        return pdfmetrics.getFont(_UNEMBEDDED) if "\u2e80" <= letter <= "\uffef" else None

    def _name(self, font, is_bold, color, size):
        """Returns the name of a font for letters of this look."""
        if font.fontName == _UNEMBEDDED:
            return _UNEMBEDDED
        key = f"{font.fontName}b{color}s{size:g}" if is_bold else f"{font.fontName}r"
        if key not in self.names:
            paint = " ".join(f"{int(color[at:at + 2], 16) / 255:.3f}" for at in (0, 2, 4))
            operators = f"{paint} RG {size * _OUTLINE:.2f} w 2 Tr" if is_bold else "0 Tr"
            # The library's own function would take a font with the same face for the same font.
            pdfmetrics._fonts[key] = _Styled(font, key, operators)
            pdfmetrics.registerFontFamily(key)
            self.names[key] = key
        return key

    def parts(self, text, is_bold=False, color="000000", is_italic=False, is_code=False, size=10.5):
        """Splits a text by font: yields `(text, name of the font)`. Without a font, a letter of a script becomes a box
        and a picture (emoji) disappears."""
        piece, last = [], None
        for letter in text:
            font = last or self.faces[0] if letter == "\n" else self._face(letter, is_italic, is_code)
            if font is None:
                is_silent = letter in _SILENT or letter >= "\U0001f000"
                letter, font = ("", last or self.faces[0]) if is_silent else ("\u25a1", self._face("\u25a1", False, False))
            if font is not last and piece:
                yield "".join(piece), self._name(last, is_bold, color, size)
                piece = []
            last = font
            piece.append(letter)
        if piece and "".join(piece):
            yield "".join(piece), self._name(last, is_bold, color, size)

    def width(self, text, is_bold=False):
        """Returns the width of a text at the font size 1."""
        return sum(pdfmetrics.stringWidth(part, name, 1000) / 1000 for part, name in self.parts(text)) + \
            (_OUTLINE if is_bold else 0)


def _slant(font):
    """Returns a font with the letters of a font, whose glyphs are sheared when a document takes them."""
    slanted = copy.copy(font)
    slanted.fontName, slanted.state = f"{font.fontName}Italic", weakref.WeakKeyDictionary()
    slanted.face = copy.copy(font.face)
    slanted.face.name += b"-Italic"
    slanted.face.makeSubset = lambda subset: _sheared(font.face.makeSubset(subset))
    return slanted


def _sheared(content):
    from fontTools.ttLib import TTFont as Font

    opened = Font(io.BytesIO(content), recalcBBoxes=False, recalcTimestamp=False)
    for glyph in opened["glyf"].glyphs.values():
        glyph.expand(opened["glyf"])
        if glyph.numberOfContours > 0:
            glyph.coordinates.transform(((1, 0), (_SLANT, 1)))
            glyph.coordinates.toInt()
    written = io.BytesIO()
    opened.save(written)
    return written.getvalue()
