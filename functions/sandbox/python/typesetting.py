"""Typesetting by typst: its templates are files of ours, and read all content as data."""

import os
import re
import tempfile
import unicodedata
from functools import cache

import typst

# The families of text, by preference; typst brings the last.
FONTS = ("Noto Sans", "Noto Sans SC", "Noto Sans KR", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Thai",
         "Noto Sans Bengali", "Noto Emoji", "DejaVu Sans Mono")
# The scripts whose letters these families have, as Unicode names them.
_SCRIPTS = {"LATIN", "GREEK", "CYRILLIC", "CJK", "HANGUL", "HIRAGANA", "KATAKANA", "BOPOMOFO", "ARABIC", "HEBREW", "THAI",
            "DEVANAGARI", "BENGALI", "ARMENIAN", "GEORGIAN", "LAO", "CHEROKEE"}
_LETTER = re.compile("(.+?)(?: CAPITAL| SMALL| VOWEL)? (?:LETTER|SYLLABLE|SYLLABICS|SIGN|HIEROGLYPH|CHARACTER|IDEOGRAPH)\\b")


def load_fonts(paths):
    """Returns the fonts of these files' folders, and typst's. Their letters are read by the process that needs them."""
    return _load_folders(tuple({os.path.dirname(os.path.abspath(path)): None for path in paths}))


@cache
def _load_folders(folders):
    return typst.Fonts(include_system_fonts=False, font_paths=[*folders])


def find_font(fonts, is_bold=False):
    """Returns the path of the font of Latin letters, or None without one in these files."""
    weight = 700 if is_bold else 400
    known = {(font.family, font.weight): font.path for font in load_fonts(fonts).fonts() if font.style == "normal"}
    return next((known[family, weight] for family in FONTS[:-1] if (family, weight) in known), None)


def name_scripts(text):
    """Returns a text in which words that these families cannot show are the name of their script, as `[Tamil]`, and the
    names."""
    names = {letter: unicodedata.name(letter, "") for letter in set(text) if letter > "\u0370"}
    # Other signs, such as ⁿ and 💌, have names of letters too.
    letters = [name for letter, name in names.items() if unicodedata.category(letter) in ("Ll", "Lo", "Lu")
               and unicodedata.is_normalized("NFKC", letter) and name.split(" ")[0] not in _SCRIPTS]
    scripts = sorted({match[1] for match in map(_LETTER.match, letters) if match})
    for script in scripts:
        marks = re.escape("".join(letter for letter, name in names.items() if name.startswith(f"{script} ")))
        text = re.sub(f"[{marks}](?:[\u200c\u200d ]*[{marks}])*", f"[{script.title()}]", text)
    return text, [script.title() for script in scripts]


def read_template(name):
    """Returns the bytes of a file beside this one."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), "rb") as file:
        return file.read()


def typeset(template, files, fonts, **options):
    """Returns the bytes of a document. `files` are all that the template (text) can read, by name; `fonts` are paths.

    Raises `typst.TypstError`.
    """
    with tempfile.TemporaryDirectory() as root:
        for name, content in files.items():
            with open(os.path.join(root, name), "wb") as file:
                file.write(content)
        # Packages would come from the network.
        return typst.compile(template.encode(), root=root, font_paths=load_fonts(fonts), package_path=root,
                             package_cache_path=root, **options)
