"""Figures in space: fields on slices, far fields on the sphere of directions, bodies."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
from scipy.ndimage import zoom

from edgewise.base.named import bind
from edgewise.potentials import PlaneWave
from edgewise.show.bodies import VIEW, eye_at
from edgewise.show.bodies import body_figure as body_figure
from edgewise.show.figures import field_figure
from edgewise.show.samples import check_count, members_of
from edgewise.show.slices import sample_slice
from edgewise.show.style import (
    caption,
    caption_height,
    caption_row,
    in_decibels,
    label_upright,
    loudest,
    matplotlib_or_words,
    titled,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from edgewise.solution import Solution

BODY = "#d0d0d0"


def slice_figure(
    solution: "Solution",
    *,
    box: Any = ((-4, -4), (4, 4)),
    plane: str = "y",
    offset: float = 0.0,
    resolution: int = 200,
    truth: "Solution | None" = None,
    name: str = "solution",
) -> "Figure":
    """One row a member: the field on a slice, where bodies are grey; real part and absolute value of total waves.

    As `field_figure` draws fields in the plane: beside the truth and the error where the problem has an `exact` field,
    or `truth` is given.

    Arguments:
        box: Lower left and upper right corner of the slice; None for one that holds the sections of all bodies.
        plane: The coordinate that is fixed: "y" shows z over x, "x" shows z over y, "z" shows y over x.
        offset: The fixed coordinate's value.
        resolution: Points along the longer side.
        truth: The same members, solved.
        name: What the column of the solution is called.
    """
    matplotlib = matplotlib_or_words()
    samples = sample_slice(solution, box=box, plane=plane, offset=offset, resolution=resolution, truth=truth)
    figure = field_figure(solution, samples=samples, estimate=False, name=name)
    panels = np.array(figure.axes).reshape(len(samples), -1)
    across, up = (name for name in "xyz" if name != plane)
    for ax in panels[-1]:
        ax.set_xlabel(across)
    for ax in panels[:, 0]:
        label_upright(ax, up)
    if solution.problem.side == "exterior":
        path = matplotlib.path.Path
        for row, sample in zip(panels, samples, strict=True):
            for ax in row if sample.curves else ():
                section = path.make_compound_path(*(path(curve, closed=True) for curve in sample.curves))
                ax.add_patch(matplotlib.patches.PathPatch(section, facecolor=BODY, edgecolor="none", zorder=0.5))
    return figure


def far_field_sphere_figure(solution: "Solution", *, count: int = 181) -> "Figure":
    """One row a member: 20 log₁₀ |u_inf|, forty decibels down, over all directions, and those of the plane y = 0.

    An arrow shows where a plane wave goes. All members share one scale.

    Arguments:
        count: Directions round the sphere; half as many from pole to pole.
    """
    matplotlib = matplotlib_or_words()
    members = members_of(solution)
    check_count("count", count, 3, 181)
    theta, phi = np.meshgrid(np.linspace(0, np.pi, count // 2 + 1), np.linspace(0, 2 * np.pi, count), indexing="ij")
    angle = np.linspace(0, 2 * np.pi, 4 * count + 1)
    directions = np.concatenate([_unit(theta, phi).reshape(-1, 3), _unit(angle, 0 * angle)])
    far = np.asarray(solution.far_field(directions)).reshape(len(members), -1)
    top = loudest(far)
    shades = matplotlib.cm.ScalarMappable(matplotlib.colors.Normalize(top - 40, top), "inferno")
    words = [caption(titled(member), 7.6) for member in members]
    size = (8.4, sum(3.9 + caption_height(text) for text in words))
    figure = matplotlib.figure.Figure(figsize=size, dpi=100, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.08)
    for i, (member, value) in enumerate(zip(members, far, strict=True)):
        ball: Any = figure.add_subplot(len(members), 2, 2 * i + 1, projection="3d")
        way = _way(member)
        _draw_sphere(ball, value[: theta.size].reshape(theta.shape), shades, way)
        # As high as the other title, which stands above the angles.
        ball.set_title("|u_inf| in dB", pad=20)
        caption_row(ball, words[i], lines=3)
        bar = figure.colorbar(shades, ax=ball, fraction=0.05, pad=0.04, aspect=24, ticks=top - np.arange(40, -1, -10))
        bar.set_label("dB")
        bar.outline.set_linewidth(0.6)
        cut: Any = figure.add_subplot(len(members), 2, 2 * i + 2, projection="polar")
        cut.set_theta_zero_location("N")
        cut.set_theta_direction(-1)
        cut.plot(angle, in_decibels(value[theta.size :], top - 40), linewidth=1.3)
        cut.set(ylim=(top - 40, top), yticks=top - np.arange(30, 0, -10))
        cut.set_title("in dB over θ from +z, for y = 0")
        # Backward, where least is scattered, between two of the lines.
        forward = 0.0 if way is None else np.degrees(np.arctan2(way[0], way[2]))
        cut.set_rlabel_position(22.5 + 45 * np.floor((forward + 180) / 45))
        cut.grid(linewidth=0.5, alpha=0.6)
    return figure


def far_field_lines_figure(
    panels: "Mapping[str, Mapping[str, Solution]]", *, columns: int = 4, count: int = 361
) -> "Figure":
    """|u_inf| over θ from +z in the plane y = 0: one panel per title, with a line per name, later ones thinner.

    All the way round: 0° is +z, 90° is +x.
    """
    matplotlib = matplotlib_or_words()
    angle = np.linspace(0, 2 * np.pi, count)
    directions = _unit(angle, 0 * angle)
    rows = -(-len(panels) // columns)
    figure = matplotlib.figure.Figure(figsize=(3.1 * columns, 2.5 * rows + 0.4), dpi=100, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True)
    shown = {}
    for ax, (heading, lines) in zip(axes.flat, panels.items(), strict=False):
        for i, (name, solution) in enumerate(lines.items()):
            far = np.abs(np.asarray(solution.far_field(directions)))
            style = ("-", "--", ":")[i % 3]
            (shown[name],) = ax.plot(
                np.degrees(angle), far, style, linewidth=max(1.2, 2.4 - 0.6 * i), color=("0.7", "C0", "C3")[i % 3]
            )
        ax.set_title(heading, fontsize="medium")
        ax.set(xlim=(0, 360), xticks=[0, 90, 180, 270, 360], ylim=(0, None))
        ax.grid(linewidth=0.5, alpha=0.6)
    for ax in axes[-1]:
        ax.set_xlabel("θ in degrees")
    for ax in axes[:, 0]:
        ax.set_ylabel("|u_inf|")
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def _draw_sphere(ax: Any, value: np.ndarray, shades: Any, way: np.ndarray | None) -> None:
    """Seen so that the forward side shows and the arrow stands free of the sphere; axes where they face the eye."""
    from matplotlib.patheffects import withStroke
    from mpl_toolkits.mplot3d.proj3d import proj_transform

    azimuth, height = VIEW
    if way is not None and np.hypot(*way[:2]) > 0.1:
        azimuth += np.degrees(np.arctan2(way[1], way[0]))
    if way is not None and way[2] < -0.5:
        height = -height
    eye = eye_at(azimuth, height)
    ax.set(xlim=(-1, 1), ylim=(-1, 1), zlim=(-1, 1), proj_type="ortho")
    ax.view_init(azim=azimuth, elev=height)
    ax.set_box_aspect((1, 1, 1), zoom=1.15)
    ax.set_axis_off()
    # Twice as fine between the directions asked for: smooth in colour at no price.
    fine = np.asarray(zoom(value, [(2 * n - 1) / n for n in value.shape], mode="nearest"))
    theta, phi = np.meshgrid(*(np.linspace(0, end, n) for end, n in zip((np.pi, 2 * np.pi), fine.shape, strict=True)))
    ax.plot_surface(
        *np.moveaxis(_unit(theta, phi), -1, 0),
        facecolors=shades.to_rgba(in_decibels(fine.T, shades.norm.vmin)),
        rcount=max(fine.shape),
        ccount=max(fine.shape),
        shade=False,
        linewidth=0,
        antialiased=False,
        rasterized=True,
    )
    rim = scipy.linalg.null_space(eye[None]) @ [np.cos(phi[:, 0]), np.sin(phi[:, 0])]
    ax.plot(*rim, color="0.2", linewidth=1.0, zorder=4)
    halo = [withStroke(linewidth=2.5, foreground="white")]
    for axis, name in zip(np.eye(3), "xyz", strict=True):
        end = axis if axis @ eye >= 0 else -axis
        seen = max(0.2, float(np.linalg.norm(np.cross(end, eye))))
        ax.plot(
            *np.outer(end, np.array([1.0, 1 + 0.3 / seen])), color="black", linewidth=1.0, zorder=5, path_effects=halo
        )
        label = name if end is axis else f"−{name}"
        ax.text(*((1 + 0.45 / seen) * end), label, ha="center", va="center", zorder=6, path_effects=halo)
    if way is not None:
        # In the plane of the picture: an arrow in space has a head of wire.
        seen = np.linalg.norm(np.cross(way, eye))
        x, y, z = np.outer(way / seen, [-1.6, -1.1])
        tail, tip = np.stack(proj_transform(x, y, z, ax.get_proj())[:2], axis=1)
        ax.annotate("", tip, tail, arrowprops={"arrowstyle": "-|>", "color": "tab:red", "lw": 2, "mutation_scale": 16})


def _way(member: "Solution") -> np.ndarray | None:
    """Where a plane wave goes; other waves and fields have no one direction."""
    data = member.problem.data
    if not isinstance(data, PlaneWave):
        return None
    return np.asarray(bind(data, member.parameters).vector, float)


def _unit(theta: np.ndarray, phi: np.ndarray) -> np.ndarray:
    return np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], axis=-1)
