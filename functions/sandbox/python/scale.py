"""Images made small enough for a vision model."""

import hashlib

from pictures import BadPicture, cut_picture, fit_picture


def scale(name, max_edge, max_bytes):
    """Makes the image `name` fit, under the same name, or as parts in other files if the image is very long.

    Returns `{"width", "height"}` of the resulting image, `{"parts"}` (names of files), or `{"problem"}` with the
    message of `pictures.BadPicture`.
    """
    try:
        parts = cut_picture(name, max_edge, max_bytes)
        if parts:
            # Several images of a question may have parts.
            of = hashlib.sha256(name.encode()).hexdigest()[:16]
            return {"parts": [_write(f"part-{of}-{number}.{part.format.lower()}", part)
                              for number, part in enumerate(parts, 1)]}
        picture = fit_picture(name, max_edge, max_bytes)
    except BadPicture as error:
        return {"problem": f"{error}"}
    if picture.is_changed:
        _write(name, picture)
    return {"width": picture.width, "height": picture.height}


def _write(name, picture):
    with open(name, "wb") as file:
        file.write(picture.content)
    return name
