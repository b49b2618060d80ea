"""Style sheets without external content."""

import re

# Maximum characters of a sheet; the rest is cut.
MAX_SHEET = 300_000

_COMMENT = re.compile(r"/\*.*?(\*/|$)", re.DOTALL)
# An escaped letter by number, or any escaped character.
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})(?:\r\n|[ \t\n\r\f])?|(.))", re.DOTALL)
_IMPORT = re.compile(r"""@import(?:"[^"]*"|'[^']*'|[^;{}"'])*(;|$)?""", re.IGNORECASE)
_URL = re.compile(r"""url\(\s*("[^"\n]*"?|'[^'\n]*'?|[^)"']*)\s*(?:\)|$)""", re.IGNORECASE)
# Functions with an address as a string.
_LOADERS = re.compile(r"(-webkit-)?(image-set|cross-fade)\(|\b(src|image|element|expression)\(", re.IGNORECASE)
_DATA = re.compile(r"^data:(image/(png|jpeg|gif|webp|svg\+xml)|font/\w+|application/(x-)?font-\w+)[;,]", re.IGNORECASE)
_LOCAL = re.compile(r"^#[\w-]+$")


def is_data(address):
    """Returns true if an address contains all data of an image or font."""
    return bool(_DATA.match(address))


def is_local(address):
    """Returns true if an address names a part of the page itself."""
    return bool(_LOCAL.match(address))


def clean_css(sheet, resolve):
    """Cleans a style sheet, or the text of a `style`: every address is local to the page or `data:`.

    `resolve` returns `data:` for an address that names a file, and None for other addresses. Returns the sheet, and
    true if an address was removed.
    """
    sheet = _COMMENT.sub(" ", sheet[:MAX_SHEET]).replace("<![CDATA[", " ").replace("]]>", " ")
    # Escaped names would not be found below.
    sheet = _ESCAPE.sub(_letter, sheet)
    left_out = 0
    sheet, count = _IMPORT.subn(" ", sheet)
    left_out += count
    sheet, count = _LOADERS.subn("none(", sheet)
    left_out += count

    def address(found):
        nonlocal left_out
        named = found[1].strip().strip("\"'").strip()
        kept = named if is_data(named) or is_local(named) else resolve(named)
        if kept is None:
            left_out += 1
            return "none"
        return f'url("{kept}")' if not re.search(r'["\\\n]', kept) else "none"

    sheet = _URL.sub(address, sheet)
    # Removes every other `url(`, which a browser could read differently.
    sheet = re.sub(r"url\((?!\"(data:|#))", "none(", sheet, flags=re.IGNORECASE)
    # The text must not end the enclosing element.
    return re.sub(r"<(?=[/!?a-zA-Z])", "< ", sheet).strip(), left_out > 0


def _letter(found):
    letter = found[2]
    if found[1]:
        number = int(found[1], 16)
        letter = chr(number) if 0 < number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
    return letter if letter.isalnum() or letter in "-_" else found[0]
