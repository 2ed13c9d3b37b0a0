"""Figures of training: loss and error over steps, and two recipes raced against each other."""

from typing import TYPE_CHECKING, Any

import numpy as np

from edgewise.show.style import matplotlib_or_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Records = list[dict[str, Any]]


def training_figure(history: Records) -> "Figure":
    """The loss, and the worst relative error on validation members, over the steps of `operator.history`."""
    if not history:
        raise ValueError("The history has no records; expected one or more. Pass `operator.history` after training.")
    matplotlib = matplotlib_or_words()
    figure = matplotlib.figure.Figure(figsize=(6.4, 3.6), dpi=100, layout="constrained")
    ax = figure.add_subplot()
    steps = np.array([record["step"] for record in history])
    for key, label, style in (
        ("loss", "loss", "o-"),
        ("misfit", "misfit of unseen members", "s-"),
        ("misfit_max", "the same in the maximum norm", "^:"),
    ):
        _line(ax, steps, history, key, label, style)
    ax.set_xlabel("step")
    if steps[-1] >= 100 * max(1, steps[0]):
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(matplotlib.ticker.StrMethodFormatter("{x:,.0f}"))
    else:
        # Half a step of room, so that one or two records do not stretch over fractions of a step.
        ax.set_xlim(*np.clip(ax.get_xlim(), [-np.inf, steps[-1] + 0.5], [steps[0] - 0.5, np.inf]))
        ax.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(integer=True, min_n_ticks=1))
    _tidy(ax)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return figure


def race_figure(theirs: Records, ours: Records) -> "Figure":
    """Left: the paper's recipe, whose loss falls while its error stands still. Right: both errors over seconds."""
    matplotlib = matplotlib_or_words()
    figure = matplotlib.figure.Figure(figsize=(9.6, 3.8), dpi=100, layout="constrained")
    left, right = figure.subplots(1, 2)
    steps = np.array([record["step"] for record in theirs])
    _line(left, steps, theirs, "loss", "loss", "-")
    _line(left, steps, theirs, "error", "relative l2 error of the field", "--")
    left.set(xlabel="step", title="the paper's recipe")
    left.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(5, integer=True))
    left.xaxis.set_major_formatter(matplotlib.ticker.StrMethodFormatter("{x:,.0f}"))
    left.legend(frameon=False)
    for records, label, style in ((theirs, "the paper's recipe", "-"), (ours, "edgewise", "o-")):
        _line(right, np.array([record["seconds"] for record in records]), records, "error", label, style)
    right.set(xlabel="seconds of training", title="relative l2 error of the field", xscale="log")
    right.legend(frameon=False)
    for ax in (left, right):
        _tidy(ax)
    return figure


def _line(ax: "Axes", x: np.ndarray, records: Records, key: str, label: str, style: str) -> None:
    values = np.array([record.get(key, np.nan) for record in records], float)
    shown = np.isfinite(values) & (values > 0)
    if np.any(shown):
        # Marks where they can be told apart.
        ax.plot(x[shown], values[shown], style, label=label, markersize=4 if len(x) <= 60 else 0, linewidth=1.3)


def _tidy(ax: "Axes") -> None:
    ticker = matplotlib_or_words().ticker
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    # Within two decades powers of ten alone would be one or two marks, and all nine in each would run into each other.
    marks = (1.0,) if high >= 100 * low else (1.0, 2.0, 5.0)
    ax.yaxis.set_major_locator(ticker.LogLocator(subs=marks, numticks=10))
    ax.yaxis.set_major_formatter(ticker.LogFormatterSciNotation(labelOnlyBase=False, minor_thresholds=(np.inf, np.inf)))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_minor_formatter(ticker.NullFormatter())
    ax.grid(linewidth=0.5, alpha=0.6)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
