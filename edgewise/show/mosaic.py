"""Many members at a glance: a mosaic of fields on one scale, without axes."""

from typing import TYPE_CHECKING, Any

import numpy as np

from edgewise.show.figures import region_of
from edgewise.show.samples import check_count, sample_field
from edgewise.show.style import colour_bar, matplotlib_or_words, shown_range
from edgewise.solution import Solution

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def mosaic_figure(
    solution: Solution, *, columns: int = 6, resolution: int = 90, box: Any = None, size: float = 1.6
) -> "Figure":
    """One panel a member, row by row: the field, of total waves the real part, all on one scale; bodies are dark.

    Arguments:
        columns: Panels in a row.
        resolution: Points along the longer side of a panel.
        box: Lower left and upper right corner of every panel; by default around all boundaries.
        size: Inches across a panel.
    """
    matplotlib = matplotlib_or_words()
    check_count("columns", columns, 1, 6)
    samples = sample_field(solution, resolution, box=box)
    columns = min(columns, len(samples))
    wave, side = solution.problem.data.is_wave, solution.problem.side
    values = np.concatenate([np.real(sample.value) for sample in samples])
    norm = matplotlib.colors.Normalize(*shown_range(values, wave))
    shades = matplotlib.cm.ScalarMappable(norm, "RdBu_r" if wave else "viridis")
    rows = -(-len(samples) // columns)
    width, height = samples[0].box[1] - samples[0].box[0]
    # Room at least for the marks of the colour bar.
    inches = (size * columns + 1.0, max(1.2, size * rows * min(3.0, height / width)))
    figure = matplotlib.figure.Figure(figsize=inches, dpi=100, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.02, wspace=0.0, hspace=0.0)
    axes = figure.subplots(rows, columns, squeeze=False)
    for ax in axes.flat:
        ax.set_axis_off()
    for ax, sample in zip(axes.flat, samples, strict=False):
        mesh = matplotlib.tri.Triangulation(*sample.points.T)
        image = ax.tripcolor(
            mesh, np.real(sample.value), norm=norm, cmap=shades.cmap, shading="gouraud", rasterized=True
        )
        image.set_clip_path(region_of(sample, side), ax.transData)
        for curve in sample.curves:
            if side == "exterior":
                ax.fill(*curve.T, color="0.15", linewidth=0)
            else:
                ax.plot(*curve.T, color="black", linewidth=0.9, solid_capstyle="round")
        ax.set(xlim=sample.box[:, 0], ylim=sample.box[:, 1], aspect="equal")
    colour_bar(figure, shades, axes, "Re u" if np.iscomplexobj(values) or wave else "u")
    return figure
