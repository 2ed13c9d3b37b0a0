"""Figures with a line for every member: far fields over the direction, densities over the arclength, the boundaries."""

from typing import TYPE_CHECKING, Any

import numpy as np

from edgewise.base.named import bind, names_in
from edgewise.geometry.grids import box_around
from edgewise.geometry.outlines import outlines
from edgewise.potentials import PlaneWave, PointSource
from edgewise.show.bodies import bodies_figure, surface_density_figure
from edgewise.show.samples import check_count, check_solution, members_of
from edgewise.show.style import MemberLines, in_decibels, label_upright, loudest, titled
from edgewise.solution import Solution

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def far_field_figure(solution: Solution, *, decibels: bool = True, count: int = 720) -> "Figure":
    """|u_inf| over the direction, one line a member: 20 log₁₀ |u_inf|, forty decibels down, or |u_inf| itself."""
    members = members_of(solution)
    check_count("count", count, 3, 720)
    lines = MemberLines(members)
    angle = np.linspace(0, 2 * np.pi, count + 1)
    far = np.abs(solution.far_field(np.stack([np.cos(angle), np.sin(angle)], axis=-1))).reshape(-1, count + 1)
    figure = lines.figure(4.8, 5.0, "|u_inf| in dB over the direction" if decibels else "|u_inf| over the direction")
    # The layout does not count the marks of angles.
    figure.get_layout_engine().set(h_pad=0.14)  # pyright: ignore
    ax: Any = figure.add_subplot(projection="polar")
    if decibels:
        top = loudest(far)
        far = in_decibels(far, top - 40)
        ax.set(ylim=(top - 40, top), yticks=top - np.arange(40, -1, -10))
    for i, line in enumerate(far):
        ax.plot(angle, line, **lines.style(i))
    ax.set_rlabel_position(112)
    ax.grid(linewidth=0.5, alpha=0.6)
    lines.explain(figure, ax)
    return figure


def density_figure(solution: Solution) -> "Figure":
    """The density over the arclength, one line a member; in space on the bodies, one row a member.

    A complex one has a panel for its real and one for its imaginary part, a pair of densities panels for both. Several
    curves follow each other. At corners, where densities are infinite, the scale is that of the rest.
    """
    check_solution(solution)
    if solution.problem.family.in_space:
        return surface_density_figure(solution)
    members = members_of(solution)
    lines = MemberLines(members)
    drawn = [_along(member) for member in members]
    values = np.concatenate([value for _, value in drawn], axis=-1)
    pair = ("first density", "second density") if len(values) == 2 else ("density",)
    parts = ((np.real, "Re "), (np.imag, "Im ")) if np.iscomplexobj(values) else ((np.real, ""),)
    panels = [(row, part, f"{mark}{name}") for row, name in enumerate(pair) for part, mark in parts]
    figure = lines.figure(6.4, 0.9 + 1.9 * len(panels))
    axes = figure.subplots(len(panels), 1, squeeze=False, sharex=True)[:, 0]
    for ax, (row, part, name) in zip(axes, panels, strict=True):
        for i, (arc, value) in enumerate(drawn):
            ax.plot(arc, part(value[row]), **lines.style(i))
        if solution.quadrature.slows_down:
            ax.set_ylim(_shown(drawn, lambda value, row=row, part=part: part(value[row])))
        ax.set_ylabel(name)
        ax.grid(linewidth=0.5, alpha=0.6)
        ax.margins(x=0.01)
        ax.spines[["top", "right"]].set_visible(False)
    axes[-1].set_xlabel("arclength")
    lines.explain(figure, axes)
    return figure


def boundary_figure(solution: Solution) -> "Figure":
    """The boundaries of all members, one line each; in space the bodies, one beside the other.

    A boundary that all members share is drawn once. Where they differ in the direction of a plane wave, each has an
    arrow along it, and where in the place of a source, a ring.
    """
    members = members_of(solution)
    if solution.problem.family.in_space:
        return bodies_figure(solution.problem.family, [titled(member) for member in members])
    lines = MemberLines(members)
    family, data = solution.problem.family, solution.problem.data
    moves = names_in(family) & {*lines.varying}
    turns = names_in(data) & {*lines.varying} if isinstance(data, PlaneWave | PointSource) else ()
    shapes = [outlines(family, member.parameters, 800) for member in (members if moves else members[:1])]
    around = np.concatenate([curve for shape in shapes for curve in shape])
    signs = [_incidence(member, around) for member in members] if turns else []
    low, high = box_around(np.concatenate([around, *(line for sign in signs for line in sign)]), 0.05)
    width, height = high - low
    same = "" if moves or turns or not lines.varying else f"the same for every {' and '.join(lines.varying)}"
    figure = lines.figure(4.8, 0.7 + min(6.0, max(1.2, (3.4 if lines.bar else 3.9) * height / width)), same)
    ax = figure.add_subplot()
    for i, shape in enumerate(shapes):
        style = lines.style(i) if moves else {"color": "0.15", "linewidth": 1.4}
        for curve in shape:
            ax.plot(*curve.T, **style, solid_capstyle="round")
    for i, (shaft, head) in enumerate(signs):
        ax.plot(*shaft.T, **lines.style(i))
        ax.plot(*head.T, **lines.style(i))[0].set_linestyle("-")
    label_upright(ax, "y")
    ax.set(xlabel="x", xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    ax.grid(linewidth=0.5, alpha=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    if not same:
        lines.explain(figure, ax)
    return figure


def _incidence(member: Solution, around: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shaft and head of an arrow along a plane wave, before it meets the boundary; of a source a ring about it."""
    wave = bind(member.problem.data, member.parameters)
    middle = (around.min(axis=0) + around.max(axis=0)) / 2
    size = np.linalg.norm(around - middle, axis=-1).max()
    if wave.has_source:
        angle = np.linspace(0, 2 * np.pi, 25)[:, None]
        return np.zeros((0, 2)), np.asarray(wave.position) + 0.04 * size * np.concatenate(
            [np.cos(angle), np.sin(angle)], axis=1
        )
    way = np.asarray(wave.vector, float)
    across = np.array([-way[1], way[0]])
    tip = middle - 1.15 * size * way
    head = tip + size * np.array([-0.14 * way + 0.07 * across, 0 * way, -0.14 * way - 0.07 * across])
    return np.stack([tip - 0.5 * size * way, tip]), head


def _along(member: Solution) -> tuple[np.ndarray, np.ndarray]:
    """Arclength and rows of densities: each curve is closed by its first node and followed by NaN."""
    density: Any = member.density
    values = np.atleast_2d(np.asarray(density.values))
    components = member.boundary.components
    weight = np.asarray(member.boundary.weight).reshape(components, -1)
    # From node to node half the weight of both.
    arc = np.cumsum((weight + np.roll(weight, -1, axis=1)) / 2, axis=1)
    arc = np.concatenate([np.zeros((components, 1)), arc], axis=1) + np.cumsum([0, *weight.sum(axis=1)])[:-1, None]
    curves = values.reshape(len(values), components, -1)
    # In both parts: a real NaN has an imaginary part of zero.
    gap = np.full((len(values), components, 1), complex(np.nan, np.nan) if np.iscomplexobj(values) else np.nan)
    closed = np.concatenate([curves, curves[..., :1], gap], axis=-1)
    arc = np.concatenate([arc, arc[:, -1:]], axis=1)
    return arc.ravel(), closed.reshape(len(values), -1)


def _shown(drawn: list[tuple[np.ndarray, np.ndarray]], read: Any) -> tuple[float, float]:
    """The range of all but a hundredth of the boundary."""
    value = np.concatenate([read(value) for _, value in drawn])
    length = np.concatenate([np.diff(arc, append=arc[-1]) for arc, _ in drawn])
    known = np.isfinite(value)
    value, length = value[known], np.abs(length[known])
    order = np.argsort(value)
    share = np.cumsum(length[order]) / np.sum(length)
    low, high = np.interp([0.005, 0.995], share, value[order])
    room = 0.1 * (high - low) or 0.5
    return low - room, high + room
