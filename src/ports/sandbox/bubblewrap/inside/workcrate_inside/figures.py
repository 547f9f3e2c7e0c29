"""A backend of matplotlib that shows each open figure once, as PNG, at show() or at the end of a cell, and then closes it.

Imported only by code that imports matplotlib.
"""

import io

from matplotlib._pylab_helpers import Gcf
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

from . import imports
from .results import Shown, represent

# More than anybody looks at. The oldest are shown then, and closed: each takes memory, and most code forgets to.
MOST_OPEN = 100
MOST_PIXELS = 4000
PADDING_INCHES = 0.1


class FigureManager(FigureManagerBase):
    def __init__(self, canvas, num):
        super().__init__(canvas, num)
        managers = Gcf.get_all_fig_managers()
        for manager in managers[: len(managers) - MOST_OPEN + 1]:
            show_figure(manager.canvas.figure)

    def show(self):
        show_figure(self.canvas.figure)


class FigureCanvas(FigureCanvasAgg):
    manager_class = FigureManager


def show(*values, **options):
    show_open_figures()


def show_open_figures():
    for manager in Gcf.get_all_fig_managers():
        show_figure(manager.canvas.figure)


def show_figure(figure):
    """Also one that pyplot does not know, or has forgotten."""
    for manager in Gcf.get_all_fig_managers():
        if manager.canvas.figure is figure:
            Gcf.destroy(manager.num)
    results = imports.shown_to
    if results is None or not results.writer.is_ours() or results.is_muted() or not results.has_room():
        return
    results.send("figure", render(figure))


def render(figure):
    try:
        return Shown(describe(figure), parts=[("image/png", draw(figure))])
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return Shown("a figure that cannot be drawn: %s: %s" % (type(error).__name__, str(error)[:500]))


def draw(figure):
    width, height = figure.get_size_inches()
    dpi = min(figure.get_dpi(), MOST_PIXELS / max(width, height, 0.01))
    data = io.BytesIO()
    figure.canvas.print_figure(
        data, format="png", dpi=dpi, facecolor=figure.get_facecolor(), bbox_inches=find_bounds(figure, width, height)
    )
    return data.getvalue()


def find_bounds(figure, width, height):
    """All that is drawn, as a notebook shows it; or None, the figure itself, where something lies far outside of it."""
    try:
        renderer = figure.canvas.get_renderer()
        figure.draw_without_rendering()
        bounds = figure.get_tightbbox(renderer).padded(PADDING_INCHES)
    except (AttributeError, TypeError):
        return None
    fits = 0 < bounds.width < 2 * width and 0 < bounds.height < 2 * height
    return bounds if fits else None


def describe(figure):
    width, height = figure.get_size_inches() * figure.get_dpi()
    titles = [axes.get_title() for axes in figure.axes[:8]]
    title = getattr(figure, "_suptitle", None)
    named = [text for text in [title.get_text() if title is not None else "", *titles] if text]
    count = "1 axes" if len(figure.axes) == 1 else "%d axes" % len(figure.axes)
    text = "figure of %d x %d pixels with %s" % (width, height, count)
    return text + (": " + represent("; ".join(named)) if named else "")
