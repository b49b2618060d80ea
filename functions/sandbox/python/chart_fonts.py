"""The fonts of charts: characters that are missing in the selected family come from the sandbox's fonts."""

import functools
import logging
import warnings

import matplotlib
from matplotlib import _mathtext, _text_helpers, font_manager

# The first character of East Asian scripts, which fonts for formulas do not have.
_EAST_ASIAN = "\u2e80"


def load_fonts(fonts):
    """Puts the fonts (paths) first for charts, and last as the fallback of each family."""
    families = []
    for font in fonts:
        font_manager.fontManager.addfont(font)
        families.append(font_manager.FontProperties(fname=font).get_name())
    matplotlib.rcParams["font.sans-serif"] = [*families, *matplotlib.rcParams["font.sans-serif"]]
    matplotlib.rcParams["axes.unicode_minus"] = False
    default = font_manager.FontManager()
    _add_fallback([*fonts, default.findfont(default.defaultFamily["ttf"])])
    for font in fonts[:1]:
        _add_to_formulas(font)
    # Hides warnings about missing families and glyphs, which are useless for readers of the output.
    for name in ("matplotlib.font_manager", "matplotlib.mathtext"):
        logging.getLogger(name).setLevel(logging.ERROR)
    _text_helpers.warn_on_missing_glyph = lambda *_: None
    warnings.filterwarnings("ignore", message="Glyph .* missing from")


def _add_fallback(fonts):
    find = font_manager.FontManager._find_fonts_by_props

    @functools.wraps(find)
    def find_with_fallback(manager, properties, fontext="ttf", *arguments, **options):
        found = find(manager, properties, fontext, *arguments, **options)
        return [*found, *(font for font in fonts if font not in found)] if fontext == "ttf" else found

    font_manager.FontManager._find_fonts_by_props = find_with_fallback


def _add_to_formulas(font):
    for kind in (_mathtext.BakomaFonts, _mathtext.UnicodeFonts, _mathtext.DejaVuFonts, _mathtext.StixFonts):
        if "_get_glyph" in vars(kind):
            kind._get_glyph = _get_glyph_of(font, kind._get_glyph)


def _get_glyph_of(font, get_glyph):
    def get(fonts, fontname, font_class, symbol):
        if len(symbol) == 1 and symbol >= _EAST_ASIAN:
            # Opened here, because a forked process shares no file with this process.
            opened = font_manager.get_font(font)
            if opened.get_char_index(ord(symbol)):
                return opened, ord(symbol), False
        return get_glyph(fonts, fontname, font_class, symbol)

    return get
