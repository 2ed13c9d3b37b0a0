"""Figures: fields up to the boundary, beside the truth and the error."""

from typing import TYPE_CHECKING, Any

import numpy as np

from edgewise.show.lines import boundary_figure as boundary_figure
from edgewise.show.lines import density_figure as density_figure
from edgewise.show.lines import far_field_figure as far_field_figure
from edgewise.show.samples import Samples, check_solution, members_of, sample_field
from edgewise.show.style import (
    FLOOR,
    TITLE_PAD,
    brightest,
    caption,
    caption_height,
    caption_row,
    colour_bar,
    few_marks,
    label_upright,
    matplotlib_or_words,
    settle,
    shown_range,
    titled,
)
from edgewise.solution import Solution
from edgewise.trust.estimate import refusal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.path import Path


def field_figure(
    solution: Solution,
    *,
    resolution: int = 200,
    box: Any = None,
    samples: list[Samples] | None = None,
    truth: Solution | None = None,
    name: str = "solution",
    estimate: bool = True,
) -> "Figure":
    """One row a member, its parameters above: truth, solution and the error on a logarithmic scale, up to the boundary.

    The truth is the problem's `exact` field, or `truth`, the same members solved; without either a row is the solution
    alone. Of a complex field the real part is drawn. Where a wave is scattered, the field is the total one; without
    `truth`, its real part and its absolute value are drawn. Save it with `figure.savefig("field.png")`; no window is
    opened.

    Arguments:
        resolution: Points along the longer side of the grid.
        box: Lower left and upper right corner of what is shown; by default around the boundaries.
        samples: Those of `sample_field`, where they are at hand already, instead of `resolution`, `box` and `truth`.
        truth: The same members, solved.
        name: What the column of the solution is called.
        estimate: Whether a title says how wrong the solution knows itself to be.
    """
    check_solution(solution)
    matplotlib = matplotlib_or_words()
    samples = sample_field(solution, resolution, box=box, truth=truth) if samples is None else samples
    width, height = samples[0].box[1] - samples[0].box[0]
    wave = solution.problem.data.is_wave
    columns = 3 if samples[0].truth is not None else 2 if wave else 1
    known = estimate and refusal(solution.problem) is None
    words = [caption(titled(member), 4.2 * columns - 0.8) for member in members_of(solution)]
    rows = [max(1.6, min(4.6, 3.2 * height / width) + 0.5 + 0.2 * known) + caption_height(text) for text in words]
    size = (4.2 * columns, sum(rows))
    figure = matplotlib.figure.Figure(figsize=size, dpi=100, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.06, h_pad=0.06, wspace=0.02, hspace=0.04)
    axes = figure.subplots(len(samples), columns, squeeze=False, sharex=True, sharey=True)
    # One scale for the errors of all members, so that they can be compared: whole decades, four below the worst member,
    # and one below the best, which would else be all of one colour.
    worst = [np.max(s.error) for s in samples if s.error is not None] or [1.0]
    best = 10.0 ** np.floor(np.log10(max(min(worst), FLOOR)))
    top = 10.0 ** np.ceil(np.log10(max(*worst, 50 * FLOOR)))
    errors = matplotlib.colors.LogNorm(max(FLOOR, min(1e-4 * top, 0.1 * best)), top)
    notes = [str(member.error_estimate()) if known else "" for member in members_of(solution)]
    for row, sample, note, text in zip(axes, samples, notes, words, strict=True):
        if wave and sample.truth is None:
            _draw_wave(figure, row, sample, solution.problem.side, note)
        else:
            _draw_row(figure, row, sample, solution.problem.side, errors, name, wave, note)
        caption_row(row[0], text, lines=1 + bool(note))
    for ax in axes[-1]:
        ax.set_xlabel("x")
    for ax in axes[:, 0]:
        label_upright(ax, "y")
    settle(figure)
    return figure


def _draw_row(
    figure: "Figure", row: Any, sample: Samples, side: str, errors: Any, solution_name: str, wave: bool, note: str
) -> None:
    matplotlib = matplotlib_or_words()
    shown = np.real(sample.value if sample.truth is None else sample.truth)
    values = matplotlib.colors.Normalize(*shown_range(shown, wave))
    name = "Re u" if np.iscomplexobj(sample.value) else "u"
    mesh = matplotlib.tri.Triangulation(*sample.points.T)
    region = region_of(sample, side)
    if sample.truth is None or sample.error is None:
        image = draw_panel(row[0], sample, mesh, region, np.real(sample.value), values)
        row[0].set_title("\n".join(filter(None, [solution_name, note])), pad=TITLE_PAD)
        colour_bar(figure, image, row[0], name)
        return
    draw_panel(row[0], sample, mesh, region, np.real(sample.truth), values, wave)
    image = draw_panel(row[1], sample, mesh, region, np.real(sample.value), values, wave)
    row[0].set_title("truth", pad=TITLE_PAD)
    row[1].set_title("\n".join(filter(None, [solution_name, note and f"says: {note}"])), pad=TITLE_PAD)
    colour_bar(figure, image, row[1], name)
    error = np.maximum(sample.error, errors.vmin)
    image = draw_panel(row[2], sample, mesh, region, error, errors)
    row[2].set_title(f"|error|, here up to {sample.error.max():.1e}", pad=TITLE_PAD)
    colour_bar(figure, image, row[2], "|error|")


def _draw_wave(figure: "Figure", row: Any, sample: Samples, side: str, note: str) -> None:
    """Signs by two colours about white, sizes from dark to light; without level lines, which would crowd."""
    matplotlib = matplotlib_or_words()
    mesh = matplotlib.tri.Triangulation(*sample.points.T)
    top = brightest(sample.value)
    for ax, value, name, low, colours in (
        (row[0], np.real(sample.value), "Re u", -top, "RdBu_r"),
        (row[1], np.abs(sample.value), "|u|", 0.0, "inferno"),
    ):
        image = ax.tripcolor(mesh, value, vmin=low, vmax=top, cmap=colours, shading="gouraud", rasterized=True)
        finish_panel(ax, sample, image, region_of(sample, side))
        ax.set_title(
            "total field" if ax is row[0] else "\n".join(filter(None, ["its absolute value", note])), pad=TITLE_PAD
        )
        colour_bar(figure, image, ax, name)


def draw_panel(
    ax: "Axes", sample: Samples, mesh: Any, region: "Path", value: np.ndarray, norm: Any, wave: bool = False
) -> Any:
    matplotlib = matplotlib_or_words()
    if isinstance(norm, matplotlib.colors.LogNorm):
        # Another map than the field's, so that the two cannot be taken for each other; both grow lighter in grey.
        # Four shades a decade: an error is read by its size, and rounding has no finer features.
        shades = matplotlib.colormaps["cividis"].resampled(4 * round(np.log10(norm.vmax / norm.vmin)))
        image = ax.tripcolor(mesh, value, norm=norm, cmap=shades, shading="flat", rasterized=True)
    elif wave:
        image = ax.tripcolor(mesh, value, norm=norm, cmap="RdBu_r", shading="gouraud", rasterized=True)
    else:
        bands = np.linspace(norm.vmin, norm.vmax, 65)
        image = ax.tricontourf(mesh, np.clip(value, norm.vmin, norm.vmax), levels=bands, norm=norm, cmap="viridis")
        marks = matplotlib.ticker.MaxNLocator(12).tick_values(norm.vmin, norm.vmax)
        lines = ax.tricontour(mesh, value, levels=marks, colors="white", linewidths=0.5, alpha=0.6)
        lines.set(linestyle="solid", clip_path=(region, ax.transData))
    finish_panel(ax, sample, image, region)
    return image


def finish_panel(ax: "Axes", sample: Samples, image: Any, region: "Path") -> None:
    image.set_clip_path(region, ax.transData)
    for curve in sample.curves:
        ax.plot(*curve.T, color="black", linewidth=1.1, solid_capstyle="round")
    ax.set(xlim=sample.box[:, 0], ylim=sample.box[:, 1], aspect="equal", anchor="N")
    few_marks(ax)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def region_of(sample: Samples, side: str) -> "Path":
    """What is drawn on: triangles reach across the bays of curves, into bodies and into holes.

    Curves run with the bounded domain on their left; turned round and put into a frame, they leave what is outside.
    """
    path = matplotlib_or_words().path.Path
    (left, bottom), (right, top) = sample.box
    frame = np.array([[left, bottom], [right, bottom], [right, top], [left, top], [left, bottom]])
    loops = {
        "both": [frame],
        "interior": sample.curves,
        "exterior": [frame, *(curve[::-1] for curve in sample.curves)],
    }[side]
    return path.make_compound_path(*(path(loop, closed=True) for loop in loops))
