"""Images made small enough for a model that sees."""

from pictures import BadPicture, fit_picture


def scale(name, max_edge, max_bytes):
    """Makes the image `name` fit, under its own name.

    Returns `{"width", "height"}` of what lies there then, or `{"problem"}`, a word of `pictures.BadPicture`.
    """
    try:
        picture = fit_picture(name, max_edge, max_bytes)
    except BadPicture as error:
        return {"problem": f"{error}"}
    if picture.is_changed:
        with open(name, "wb") as file:
            file.write(picture.content)
    return {"width": picture.width, "height": picture.height}
