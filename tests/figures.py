"""What is drawn on a figure, read back: texts and where they are."""

import itertools
from unittest import mock

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text


def drawn_texts(figure):
    """Every text that is drawn, with its box in pixels: marks that lie outside of their axes are not."""
    canvas, found, draw = FigureCanvasAgg(figure), [], Text.draw

    def record(text, renderer, *args, **kwargs):
        if text.get_visible() and text.get_text().strip():
            found.append((text.get_text(), text.get_window_extent(renderer)))
        return draw(text, renderer, *args, **kwargs)

    # Once, as a file is written: drawn again, panels of equal units have another layout.
    with mock.patch.object(Text, "draw", record):
        canvas.draw()
    return found


def bars_of(figure):
    """The axes of the colour bars that stand beside one panel each."""
    return [bar for ax in figure.axes for bar in ax.child_axes]


def check_texts(figure):
    """No text runs out of the figure or into another; returns them all."""
    texts = drawn_texts(figure)
    for text, box in texts:
        inside = box.x0 > -1 and box.y0 > -1 and box.x1 < figure.bbox.width + 1 and box.y1 < figure.bbox.height + 1
        assert inside, f"{text!r} runs out of the figure: {box.extents.round()} of {figure.bbox.size}"
    for (text, a), (other, b) in itertools.combinations(texts, 2):
        across, up = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert across < 1 or up < 1, f"{text!r} runs into {other!r}"
    return [text for text, _ in texts]
