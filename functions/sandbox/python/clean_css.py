"""Style sheets without anything that a browser would load."""

import re

# What is left of a sheet that has more.
MAX_SHEET = 300_000

_COMMENT = re.compile(r"/\*.*?(\*/|$)", re.DOTALL)
# Of a letter by its number, or of any character by itself.
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})(?:\r\n|[ \t\n\r\f])?|(.))", re.DOTALL)
_IMPORT = re.compile(r"""@import(?:"[^"]*"|'[^']*'|[^;{}"'])*(;|$)?""", re.IGNORECASE)
_URL = re.compile(r"""url\(\s*("[^"\n]*"?|'[^'\n]*'?|[^)"']*)\s*(?:\)|$)""", re.IGNORECASE)
# Functions that take an address as a string.
_LOADERS = re.compile(r"(-webkit-)?(image-set|cross-fade)\(|\b(src|image|element|expression)\(", re.IGNORECASE)
_DATA = re.compile(r"^data:(image/(png|jpeg|gif|webp|svg\+xml)|font/\w+|application/(x-)?font-\w+)[;,]", re.IGNORECASE)
_LOCAL = re.compile(r"^#[\w-]+$")


def is_data(address):
    """Whether an address has all of an image or font in it."""
    return bool(_DATA.match(address))


def is_local(address):
    """Whether an address is that of a part of the page itself."""
    return bool(_LOCAL.match(address))


def clean_css(sheet, resolve):
    """A style sheet, or what stands in a `style`, in which every address is of the page itself or is `data:`.

    `resolve` makes `data:` of an address that names a file, and None of others. Returns the sheet and whether
    an address was left out.
    """
    sheet = _COMMENT.sub(" ", sheet[:MAX_SHEET]).replace("<![CDATA[", " ").replace("]]>", " ")
    # A name written in escapes is one that is not found below.
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
    # What is no function that was found is none: nothing may be left that a browser reads otherwise.
    sheet = re.sub(r"url\((?!\"(data:|#))", "none(", sheet, flags=re.IGNORECASE)
    # Neither can it end the element that it stands in.
    return re.sub(r"<(?=[/!?a-zA-Z])", "< ", sheet).strip(), left_out > 0


def _letter(found):
    letter = found[2]
    if found[1]:
        number = int(found[1], 16)
        letter = chr(number) if 0 < number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
    return letter if letter.isalnum() or letter in "-_" else found[0]
