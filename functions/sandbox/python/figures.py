"""Figures of a block: shown figures are saved, except empty figures."""

import os
import sys
import weakref

# Maximum figures saved for code that only shows them.
MAX_FIGURES = 20


class Figures:
    """The figures of pyplot during a block, if pyplot is loaded."""

    def __init__(self):
        # The names of empty figures that were not saved.
        self.empty = []
        self._saved = weakref.WeakSet()
        self._pyplot = sys.modules.get("matplotlib.pyplot")
        if self._pyplot is None:
            return
        self._pyplot.close("all")
        self._pyplot.show = lambda *_, **__: self.save_open()
        figure = self._pyplot.Figure
        self._savefig = figure.savefig
        figure.savefig = lambda *arguments, **options: self._save(*arguments, **options)
        figure.show = lambda shown, *_, **__: self.show(shown)

    def is_figure(self, value):
        return self._pyplot is not None and isinstance(value, self._pyplot.Figure)

    def show(self, figure):
        """Saves a figure under a free name, unless it is already saved."""
        if figure not in self._saved and _has_artists(figure):
            figure.savefig(_free_name("figure"), dpi=120, bbox_inches="tight")

    def save_open(self):
        """Saves all open figures that are not saved, and closes all. Later blocks can draw on figures in variables."""
        if self._pyplot is None:
            return
        for number in self._pyplot.get_fignums()[:MAX_FIGURES]:
            self.show(self._pyplot.figure(number))
        self._pyplot.close("all")

    def _save(self, figure, target, *arguments, **options):
        if isinstance(target, (str, os.PathLike)) and not _has_artists(figure):
            self.empty.append(os.fspath(target))
            return None
        self._saved.add(figure)
        return self._savefig(figure, target, *arguments, **options)


def _has_artists(figure):
    """Returns true if a figure has content besides axes and titles."""
    titles = [getattr(figure, name, None) for name in ("_suptitle", "_supxlabel", "_supylabel")]
    kinds = (figure.lines, figure.patches, figure.images, figure.artists, figure.legends)
    has_text = any(all(text is not title for title in titles) for text in figure.texts)
    return has_text or any(kinds) or any(_is_drawn_on(axes) for axes in figure.axes)


def _is_drawn_on(axes):
    kinds = (axes.lines, axes.patches, axes.collections, axes.images, axes.texts, axes.tables, axes.artists,
             axes.child_axes)
    return any(map(len, kinds))


def _free_name(stem):
    number = 1
    while os.path.exists(f"{stem}-{number}.png"):
        number += 1
    return f"{stem}-{number}.png"
