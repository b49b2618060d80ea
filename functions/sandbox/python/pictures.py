"""Untrusted images: opened within limits, and made smaller."""

import io
import os

# Maximum pixels of a decoded image: four bytes each, with copies, must fit into the jail's memory.
MAX_PIXELS = 100_000_000
# Supported formats. Pillow supports many more, and each is a parser.
FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
# Qualities that are tried before an image is made smaller.
_QUALITIES = (88, 75, 60)
# The factor for each edge while the image has too many bytes.
_STEP = 0.75
_MIN_EDGE = 64
# The ratio of length to width from which an image is cut into parts,
# the maximum number of parts, and the pixels that two parts share, so that no line of text is lost.
_LONG, _MAX_PARTS, _OVERLAP = 3, 8, 80


class BadPicture(Exception):
    """An image that cannot be shown. The message is the reason: `too_large`, `broken`, `no_image`."""


class Picture:
    """An image within the limits: `content` (bytes), `format` as named by Pillow, `width` and `height` in pixels.

    `is_changed` is true if `content` differs from the file.
    """

    def __init__(self, content, kind, size, is_changed):
        self.content, self.format, self.is_changed = content, kind, is_changed
        self.width, self.height = size


def shown_size(picture, most_wide, most_high):
    """Returns the width and height of an image in a document, in points: a chart is as wide as the text, an icon is
    not, and neither fills a page."""
    wide = most_wide if picture.width >= 500 else picture.width * 0.75
    scale = min(wide / picture.width, most_high / picture.height)
    return picture.width * scale, picture.height * scale


def fit_picture(path, max_edge, max_bytes):
    """Returns the image of a file, with at most `max_edge` pixels per edge and `max_bytes`.

    An image within the limits stays unchanged. Other images are rotated as the camera recorded and lose all metadata;
    of an animation, the first frame is used. Raises `BadPicture`.
    """
    from PIL import Image, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None
    try:
        with Image.open(path, formats=FORMATS) as image:
            if image.width * image.height > MAX_PIXELS:
                raise BadPicture("too_large")
            return _fit(image, path, max_edge, max_bytes)
    except UnidentifiedImageError as error:
        raise BadPicture("no_image" if not _has_mark(path) else "broken") from error
    except MemoryError as error:
        raise BadPicture("too_large") from error
    except BadPicture:
        raise
    except Exception as error:  # Decoders report a broken image with many kinds of exceptions.
        raise BadPicture("broken") from error


def cut_picture(path, max_edge, max_bytes):
    """Returns the parts of a very long image, in order, each within the limits of `fit_picture`; none for any other
    image.

    A part is as wide as the image, so that text in a screenshot stays readable. Raises `BadPicture`.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None
    try:
        with Image.open(path, formats=FORMATS) as image:
            long, short = max(image.size), min(image.size)
            if long <= max_edge or long < short * _LONG or image.width * image.height > MAX_PIXELS:
                return []
            kind = image.format
            image = _without_palette(ImageOps.exif_transpose(image), kind)
            return [_shrink(part, kind, max_bytes) for part in _cut(image, max_edge)]
    except UnidentifiedImageError:
        # `fit_picture` reports the problem.
        return []
    except MemoryError as error:
        raise BadPicture("too_large") from error
    except BadPicture:
        raise
    except Exception as error:
        raise BadPicture("broken") from error


def _cut(image, max_edge):
    longest = _MAX_PARTS * (max_edge - _OVERLAP) + _OVERLAP
    scale = min(1, longest / max(image.size), max_edge / min(image.size))
    if scale < 1:
        image = image.resize([max(1, int(edge * scale)) for edge in image.size])
    is_tall = image.height > image.width
    long = max(image.size)
    count = -(-(long - _OVERLAP) // (max_edge - _OVERLAP))
    length = -(-(long + (count - 1) * _OVERLAP) // count)
    for number in range(count):
        start = min(number * (length - _OVERLAP), long - length)
        box = (0, start, image.width, start + length) if is_tall else (start, 0, start + length, image.height)
        yield image.crop(box)


def _has_mark(path):
    with open(path, "rb") as file:
        start = file.read(12)
    return start.startswith((b"\x89PNG", b"\xff\xd8\xff", b"GIF8")) or start[8:12] == b"WEBP"


def _fit(image, path, max_edge, max_bytes):
    from PIL import ImageOps

    kind, size = image.format, os.path.getsize(path)
    fits = max(image.size) <= max_edge and size <= max_bytes
    is_plain = not image.getexif() and getattr(image, "n_frames", 1) == 1
    if fits and is_plain:
        # Other programs decode the image too, so it must be complete.
        image.load()
        with open(path, "rb") as file:
            return Picture(file.read(), kind, image.size, False)
    # A JPEG is decoded at a smaller size quickly.
    image.draft("RGB", (max_edge, max_edge))
    image = _without_palette(ImageOps.exif_transpose(image), kind)
    image.thumbnail((max_edge, max_edge))
    return _shrink(image, kind, max_bytes)


def _shrink(image, kind, max_bytes):
    """Returns the image in at most `max_bytes`, made smaller if needed."""
    while True:
        for quality in _QUALITIES:
            content = _encode(image, kind, quality)
            if len(content) <= max_bytes:
                return Picture(content, kind, image.size, True)
            if kind in ("PNG", "GIF"):
                break
        if max(image.size) <= _MIN_EDGE:
            raise BadPicture("too_large")
        image = image.resize([max(1, int(edge * _STEP)) for edge in image.size])


def _without_palette(image, kind):
    if kind == "JPEG":
        return image if image.mode in ("RGB", "L") else image.convert("RGB")
    if image.mode in ("RGB", "RGBA", "L", "LA"):
        return image
    if image.mode.startswith(("I", "F")):
        return image.convert("L")
    return image.convert("RGBA")


def _encode(image, kind, quality):
    # Removes all metadata.
    image.info = {}
    written = io.BytesIO()
    options = {"quality": quality} if kind in ("JPEG", "WEBP") else {}
    image.save(written, kind, **options, **({"optimize": True} if kind == "JPEG" else {}))
    return written.getvalue()
