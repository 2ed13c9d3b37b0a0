"""What all figures share: matplotlib itself, the words above a row, lines of members that can be told apart."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from edgewise.base.named import name_of, names_in
from edgewise.base.values import in_words
from edgewise.potentials import PlaneWave, PointSource

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Errors below this are drawn like this: rounding often gives exactly 0, which has no logarithm.
FLOOR = 1e-16
# From so many lines on, a colour bar says which is which, where one number does.
MOST_NAMES = 8
STYLES = ("-", "--", "-.", (0, (1, 1.2)))
# Letters that fit into an inch of text of the usual size.
LETTERS = 11.5
# A panel shorter than this part of its other side has one mark along it, and a colour bar that is higher.
SHORT = 1 / 8
# Points from a panel to its title: above the highest mark of a colour bar, which may reach under it.
TITLE_PAD = 9


def matplotlib_or_words() -> Any:
    """Imported when a figure is asked for: an extra, and slow to load."""
    try:
        import matplotlib
        import matplotlib.colors
        import matplotlib.figure
        import matplotlib.path
        import matplotlib.ticker
        import matplotlib.transforms
        import matplotlib.tri
    except ImportError:
        raise ImportError(
            'Figures need matplotlib, which is not installed. Run `pip install "edgewise[plot]"`.'
        ) from None
    return matplotlib


def brightest(value: np.ndarray) -> float:
    """What a scale of waves ends with: the last hundredth may be the neighbourhood of a point source."""
    return float(np.quantile(np.abs(value), 0.995))


def shown_range(value: np.ndarray, wave: bool) -> tuple[float, float]:
    """The ends of the scale of a real field; of waves about zero."""
    if wave:
        return -brightest(value), brightest(value)
    low, high = float(value.min()), float(value.max())
    # A constant field: the rounding in it is for the error to show.
    return (low - 0.5, high + 0.5) if high - low <= 1e-9 * max(abs(low), abs(high)) else (low, high)


def loudest(far: np.ndarray) -> float:
    """What a scale of far fields ends with, in decibels: a multiple of five."""
    return 5 * np.ceil(4 * np.log10(max(np.abs(far).max(), FLOOR)))


def in_decibels(value: np.ndarray, bottom: float) -> np.ndarray:
    """20 log₁₀ |value|, or `bottom` where that is less."""
    return np.maximum(20 * np.log10(np.maximum(np.abs(value), FLOOR)), bottom)


def titled(member: Any) -> dict[str, Any]:
    """The numbers in a member's title: those of a wave that its problem fixes, then parameters in the box's order."""
    problem = member.problem
    fixed = {}
    if problem.data.is_wave:
        fixed = {"k": problem.representation.kernel.wavenumber}
    if isinstance(problem.data, PlaneWave) and name_of(problem.data.direction) is None:
        fixed["direction"] = problem.data.vector
    if isinstance(problem.data, PointSource):
        fixed["source"] = problem.data.position
    known = {name: value for name, value in fixed.items() if not names_in(value)}
    return known | problem.parameters.in_order(member.parameters)


def caption(parameters: Mapping[str, Any], width: float) -> str:
    """Parameters in lines of at most `width` inches, broken between them where that is possible."""
    letters = max(12, int(LETTERS * width))
    words = (text if len(text) > letters else text.replace(" ", "\xa0") for text in in_words(parameters))
    return textwrap.fill(", ".join(words), letters)


def caption_row(ax: "Axes", words: str, lines: int = 1) -> None:
    """Words above a row of panels that begins with this one, and above their titles of so many lines."""
    if not words:
        return
    matplotlib = matplotlib_or_words()
    # A title to the left counts for the layout by its height alone: it may run on above the other panels. Setting
    # another title would undo where it is.
    text = ax.set_title(words, loc="left", fontsize="medium", pad=TITLE_PAD)
    figure: Any = ax.figure
    points = TITLE_PAD + 1.25 * lines * matplotlib.rcParams["font.size"] * 1.2
    up = matplotlib.transforms.ScaledTranslation(0, points / 72, figure.dpi_scale_trans)
    text.set_transform(ax.transAxes + up)


def caption_height(words: str) -> float:
    """The inches that they take."""
    return 0.19 * (words.count("\n") + 1) if words else 0.0


def colour_bar(figure: "Figure", image: Any, axes: Any, label: str) -> None:
    """Beside one panel and as high as that, unless it is flat, or beside several; with a few marks."""
    matplotlib = matplotlib_or_words()
    first, *others = np.ravel(axes)
    # The layout would make a bar as high as the place for the panel, of which equal units may leave a part empty.
    if others:
        bar = figure.colorbar(image, ax=axes, fraction=0.05, pad=0.02, aspect=30)
    else:
        height = max(1.0, SHORT / first.get_data_ratio()) if first.get_aspect() == 1 else 1.0
        # Inches across, so that bars of narrow panels are seen.
        right = matplotlib.transforms.ScaledTranslation(1, 0, first.transAxes)
        place = matplotlib.transforms.blended_transform_factory(figure.dpi_scale_trans + right, first.transAxes)
        bar = figure.colorbar(image, cax=first.inset_axes((0.09, 0, 0.12, height), transform=place))
    if not isinstance(image.norm, matplotlib.colors.LogNorm):
        bar.locator = matplotlib.ticker.MaxNLocator("auto", steps=[1, 2, 5, 10])
        bar.update_ticks()
    if len(label) == 1:
        bar.set_label(label, rotation="horizontal", ha="left", va="center")
    else:
        bar.set_label(label)
    bar.outline.set_linewidth(0.6)


def few_marks(ax: "Axes") -> None:
    """One mark along the short side of a narrow or flat panel of equal units, where two would run into each other."""
    matplotlib = matplotlib_or_words()
    for axis, part in ((ax.xaxis, 1 / ax.get_data_ratio()), (ax.yaxis, ax.get_data_ratio())):
        if part < SHORT:
            axis.set_major_locator(matplotlib.ticker.FixedLocator([np.mean(axis.get_view_interval())]))


def label_upright(ax: "Axes", letter: str) -> None:
    """The coordinate that goes up, left of the marks, and not lying on its side."""
    ax.set_ylabel(letter, rotation="horizontal", ha="right", va="center")


def settle(figure: "Figure") -> None:
    """Lays a figure out until its texts have room: panels of equal units need a few passes, and saving makes only
    one."""
    for _ in range(4):
        figure.get_layout_engine().execute(figure)  # pyright: ignore


class MemberLines:
    """Lines of members that can be told apart in print and in grey: from dark to light, in turn solid and broken.

    What members share is the figure's title. Of up to eight a legend below says which is which; of more a colour bar,
    where they differ in one number.
    """

    def __init__(self, members: Sequence[Any]):
        self.matplotlib = matplotlib_or_words()
        every = [titled(member) for member in members]
        self.varying = [name for name in every[0] if any(not np.array_equal(p[name], every[0][name]) for p in every)]
        self.shared = {name: value for name, value in every[0].items() if name not in self.varying}
        self.told = [{name: p[name] for name in self.varying} for p in every]
        self.few = len(members) <= MOST_NAMES
        place = np.linspace(0, 1, len(members))
        self.bar = None
        if not self.few and len(self.varying) == 1 and np.ndim(every[0][self.varying[0]]) == 0:
            number = np.array([p[self.varying[0]] for p in every], float)
            place = (number - number.min()) / np.ptp(number)
            scale = self.matplotlib.colors.Normalize(number.min(), number.max())
            # As far as lines can be seen on white.
            shades = self.matplotlib.colors.ListedColormap(self.matplotlib.colormaps["viridis"](np.linspace(0, 0.85)))
            self.bar = self.matplotlib.cm.ScalarMappable(scale, shades)
        self.colours = self.matplotlib.colormaps["viridis"](0.85 * place)

    def figure(self, width: float, height: float, title: str = "") -> "Figure":
        """Leaves room below for the legend, and above for what members share and a title, which is the figure's label
        too."""
        words = "\n".join(filter(None, [caption(self.shared, width), title]))
        labels = self._labels(width)
        rows = -(-len(labels) // _columns(labels, width)) if labels else 0
        size = (width, height + rows * (0.03 + max(map(caption_height, labels), default=0)) + caption_height(words))
        figure = self.matplotlib.figure.Figure(figsize=size, dpi=100, layout="constrained")
        figure.set_label(title)
        if words:
            figure.suptitle(words, fontsize="medium")
        return figure

    def style(self, i: int) -> dict[str, Any]:
        """How the line of member `i` is drawn."""
        broken = STYLES[i % len(STYLES)] if self.few else "-"
        return {"color": self.colours[i], "linestyle": broken, "linewidth": 1.4 if self.few else 1.0, "gid": f"{i}"}

    def explain(self, figure: "Figure", axes: Any) -> None:
        """The legend, or the colour bar."""
        labels = self._labels(figure.get_figwidth())
        if labels:
            figure.legend(
                [self.matplotlib.lines.Line2D([], [], **self.style(i)) for i in range(len(labels))],
                labels,
                loc="outside lower center",
                ncols=_columns(labels, figure.get_figwidth()),
                frameon=False,
                handlelength=2.4,
            )
        elif self.bar is not None:
            colour_bar(figure, self.bar, axes, self.varying[0])

    def _labels(self, width: float) -> list[str]:
        named = self.few and bool(self.varying)
        return [caption(told, width - 0.8) for told in self.told] if named else []


def _columns(labels: list[str], width: float) -> int:
    longest = max(len(line) for label in labels for line in label.split("\n"))
    return max(1, min(len(labels), int(LETTERS * width / (longest + 8))))
