"""The encoding of a text without a declaration: found by byte order marks, bytes, and the resulting letters."""

import codecs
from collections import Counter

import letters

# Maximum bytes of a text.
MAX_TEXT_BYTES = 64 * 1024 * 1024
# Bytes that are examined to judge encodings.
_SAMPLE_BYTES = 64 * 1024
_PIECE = 1024 * 1024
# Characters beyond ASCII per invalid byte from which a text counts as UTF-8.
_UTF8_PER_ERROR = 4
# Characters beyond ASCII per byte that an older encoding does not define.
_OTHERS_PER_ERROR = 50
# A smaller difference of scores leaves two candidates; with few letters, the limit is larger.
_CLOSE, _FEW = 0.15, 0.6

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"),
          (codecs.BOM_UTF16_BE, "utf-16"))
# Each with the variant of Windows, which has more characters.
_CANDIDATES = (("gb18030",), ("big5", "cp950"), ("shift_jis", "cp932"), ("euc_kr", "cp949"), ("cp1252",),
               ("cp1251",))


_FAMILIES = {"gb18030": letters.simplified, "big5": letters.traditional, "cp950": letters.traditional,
             "shift_jis": letters.japanese, "cp932": letters.japanese, "euc_kr": letters.korean,
             "cp949": letters.korean, "cp1252": letters.latin, "cp1251": letters.cyrillic}
_WIDE = (letters.simplified, letters.traditional, letters.japanese, letters.korean)
# The score from which letters are words.
_WORDS = 0.5


class TextEncoding:
    """The encoding of a text.

    `name` is Python's name; `other` is an encoding that fits nearly as well, or None; `replaced` is the number of
    unreadable characters; `is_cut` is true if the text continues after `MAX_TEXT_BYTES`.
    """

    def __init__(self, name, other=None):
        self.name, self.other = name, other
        self.replaced, self.is_cut = 0, False

    def notes(self):
        """Returns notes of `extract.extract` about the text."""
        notes = [f"encodings:{self.name}, {self.other}"] if self.other else []
        notes += [f"replaced:{self.replaced}"] if self.replaced else []
        return notes + (["cut"] if self.is_cut else [])


def read_text(path):
    """Returns the text of a file, up to `MAX_TEXT_BYTES`, and its `TextEncoding`; `(None, None)` for other files."""
    with open(path, "rb") as file:
        content = file.read(MAX_TEXT_BYTES + 1)
    is_cut = len(content) > MAX_TEXT_BYTES
    encoding = find_encoding(content)
    if encoding is None:
        return None, None
    if is_cut:
        content = content[:content.rfind(b"\n", 0, MAX_TEXT_BYTES) + 1 or MAX_TEXT_BYTES]
    encoding.is_cut = is_cut
    text = content.decode(encoding.name, errors="replace")
    encoding.replaced = text.count("\ufffd")
    return text, encoding


def find_encoding(content):
    """Returns the `TextEncoding` of these bytes, whose last character may be cut, or None for other content."""
    for mark, name in _MARKS:
        if content.startswith(mark):
            return TextEncoding(name)
    if b"\0" in content[:_SAMPLE_BYTES]:
        return _utf16_without_mark(content[:_SAMPLE_BYTES])
    wrong = _first_error(content)
    if wrong is None:
        return TextEncoding("utf-8")
    start = content.rfind(b"\n", 0, max(0, wrong - _SAMPLE_BYTES // 2)) + 1
    sample = content[start:start + _SAMPLE_BYTES]
    if start + _SAMPLE_BYTES < len(content):
        # The last line may be cut within a character.
        sample = sample[:sample.rfind(b"\n") + 1] or sample
    if _is_nearly(sample, "utf-8", _UTF8_PER_ERROR):
        return TextEncoding("utf-8")
    return _find_older(sample)


def _first_error(content):
    """Returns the position of the first byte that is not UTF-8, or None."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(content), _PIECE):
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(content[start:start + _PIECE])
        except UnicodeDecodeError as error:
            return max(0, start - pending + error.start)
    return None


def _utf16_without_mark(sample):
    """Detects UTF-16 without a mark: line ends and digits have a zero in every other byte."""
    sample = sample[:len(sample) // 2 * 2]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    for name, zeros, others in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if zeros > others * 10 and zeros * 8 > len(sample):
            return TextEncoding(name)
        text = sample.decode(name, errors="replace")
        if zeros > others and max(_worth(text, family) for family in _WIDE) > _WORDS:
            return TextEncoding(name)
    return None


def _is_nearly(content, name, per_error):
    text = content.decode(name, errors="replace")
    foreign, wrong = sum(letter > "\x7f" for letter in text), text.count("\ufffd")
    return wrong == 0 or foreign - wrong >= wrong * per_error


def _find_older(sample):
    """Returns the older encoding with the letters that are most like a language."""
    scores = []
    for names in _CANDIDATES:
        name = next((name for name in names if _decodes(sample, name)), names[-1])
        if _is_nearly(sample, name, _OTHERS_PER_ERROR):
            scores.append((_score(sample, name), name))
    if not scores:
        return TextEncoding("latin-1")
    (best, name), *others = sorted(scores, reverse=True)
    letters_count = sum(letter > "\x7f" for letter in sample.decode(name, errors="replace"))
    close = _CLOSE + _FEW / max(1, letters_count)
    other = others[0][1] if others and others[0][0] > best - close else None
    return TextEncoding(name, other)


def _decodes(sample, name):
    try:
        sample.decode(name)
    except UnicodeDecodeError:
        return False
    return True


def _score(sample, name):
    """Returns a score from about -1 (noise) to 1 (words), by the letters and by charset-normalizer's disorder."""
    from charset_normalizer.md import mess_ratio

    text = sample.decode(name, errors="replace")
    return _worth(text, _FAMILIES[name]) - mess_ratio(text[:_MESS_CHARACTERS], 1.0) / 2


def _worth(text, family):
    """Returns the average score of the letters beyond ASCII."""
    worths = Counter()
    foreign = Counter()
    for before, letter, after in zip(" " + text, text, text[1:] + " "):
        if letter > "\x7f" and foreign[letter] < _MOST_ALIKE:
            foreign[letter] += 1
            worths[letter] += family(before, letter, after)
    count = sum(foreign.values())
    return sum(worths.values()) / max(1, count)


# Maximum examined positions of one letter, so that a column with one repeated word does not decide.
_MOST_ALIKE = 5
# Maximum characters for measuring the disorder.
_MESS_CHARACTERS = 4_096
