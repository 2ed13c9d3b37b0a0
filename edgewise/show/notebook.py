"""What notebooks show of problems, operators and solutions: a few words and a small picture, drawn here as SVG.

Nothing here computes more than shapes, imports matplotlib or raises: what cannot be drawn, as while JAX traces, is left
out.
"""

import html
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from edgewise.base.html import register
from edgewise.base.parameters import Box
from edgewise.base.precision import is_concrete
from edgewise.base.values import in_words, members_in_words
from edgewise.geometry import AbstractFamily
from edgewise.geometry.outlines import outlines, patch_grids
from edgewise.learn.operator import Operator
from edgewise.problem import Problem
from edgewise.solution import Solution

# Members that a picture shows, and the number that seeds how they are spread.
SHOWN, SEED = 4, 0
SIZE = 150
# Seen on white and on black.
_INK = ("#8f63d8", "#3a80c8", "#2e9461", "#b07d12")
# Where bodies are seen from: rows are right and up in the picture, as figures see them.
_VIEW = np.array([[0.766, 0.643, 0.0], [0.220, -0.262, 0.940]])


def card(heading: str, rows: Sequence[tuple[str, str]], pictures: Iterable[str] = ()) -> str:
    """A heading, named lines of words, and pictures beside them."""
    lines = "".join(
        f'<tr><td style="text-align:left;opacity:.65">{html.escape(name)}</td>'
        f'<td style="text-align:left">{html.escape(words)}</td></tr>'
        for name, words in rows
        if words
    )
    return (
        '<div style="display:flex;flex-wrap:wrap;align-items:center;gap:1em">'
        f"<div><b>{html.escape(heading)}</b><table>{lines}</table></div>{''.join(pictures)}</div>"
    )


@register
def _problem(problem: Problem) -> str:
    return card("Problem", problem.in_words(), [members_picture(problem.family, problem.parameters)])


@register
def _solution(solution: Solution) -> str:
    parameters = solution.problem.parameters.in_order(solution.parameters)
    rows = [
        *(line for line in solution.problem.in_words() if line[0] in ("equation", "side", "data")),
        ("parameters", members_in_words(parameters, solution.batched)),
        ("result", str(solution.result)),
        ("nodes", str(solution.boundary.x.shape[-2])),
    ]
    error = solution.stats.get("error")
    # Known where `tol` was asked for; elsewhere it would be computed, and a picture must not cost that.
    if error is not None and is_concrete(error):
        rows.append(("error", f"at most {float(np.max(np.asarray(error))):.1e}, by its estimate"))
    heading = f"Solution of {len(solution)} members" if solution.batched else "Solution"
    return card(heading, rows, density_pictures(solution.boundary, solution.density, parameters, solution.batched))


@register
def _operator(operator: Operator) -> str:
    shown = [line for line in operator.problem.in_words() if line[0] != "layers"]
    rows = [*shown, ("recipe", operator.recipe.name), ("result", str(operator.result))]
    return card("Operator", rows, [members_picture(operator.problem.family, operator.problem.parameters)])


def members_picture(family: AbstractFamily, box: Box) -> str:
    """The boundaries of a few members, evenly spread over the box; below it, which they are."""
    try:
        # Surfaces on top of each other could not be told apart.
        count = SHOWN if family.names and not family.in_space else 1
        spread = _spread({name: spec for name, spec in box.specs if name in family.names}, count)
        members = [{name: value[i] for name, value in spread.items()} for i in range(count)]
        lines = [(line, _INK[i]) for i, member in enumerate(members) for line in _shape(family, member)]
        return _captioned(_svg(lines, scale=True), _which(spread))
    except Exception:
        # A picture is a kindness: whatever keeps it from being drawn must not keep the words from being read.
        return ""


def density_pictures(boundary: Any, density: Any, parameters: Mapping[str, Any], batched: bool) -> list[str]:
    """The nodes in the density's colours, and the density along them; of a batch a few members."""
    try:
        x, normal, weight, values = (
            np.asarray(part) if batched else np.asarray(part)[None]
            for part in (boundary.x, boundary.normal, boundary.weight, density.values)
        )
        few = np.unique(np.linspace(0, len(x) - 1, SHOWN).round().astype(int))
        # The first of a pair of densities.
        values = (values if values.ndim == 2 else values[:, 0])[few]
        top = np.quantile(np.abs(np.real(values)), 0.98) or 1.0
        shares = np.real(values) / top
        part = "Re density" if np.iscomplexobj(values) else "density"
        varying = {name: value for name, value in parameters.items() if batched and np.any(value != value[:1])}
        told = [in_words({name: value[i] for name, value in varying.items()}) for i in few]
        below = [html.escape("; ".join([*words, f"{part} {-top:.2g} blue, {top:.2g} red"])) for words in told]
        if x.shape[-1] == 3:
            drawn = [_seen(*parts) for parts in zip(x[few], normal[few], shares, strict=True)]
        else:
            drawn = [_coloured(*parts, boundary.components) for parts in zip(x[few], shares, strict=True)]
        pictures = [_captioned(*parts) for parts in zip(drawn, below, strict=True)]
        return pictures if x.shape[-1] == 3 else [*pictures, _along(values, weight[few], top)]
    except Exception:
        return []


def _spread(specs: Mapping[str, Any], count: int) -> dict[str, np.ndarray]:
    """Members at even steps through every interval: upwards in the first number, each other in its own random order."""
    steps, draw = np.linspace(0, 1, count) if count > 1 else np.array([0.5]), np.random.default_rng(SEED)
    orders = itertools.chain([steps], (draw.permutation(steps) for _ in itertools.count()))
    return {name: spec.steps(orders, count) for name, spec in specs.items()}


def _which(spread: Mapping[str, np.ndarray]) -> str:
    """The members in words: of one number its values in the colours of the lines."""
    if not spread:
        return ""
    (name, values), *others = spread.items()
    if len(values) == 1:
        return html.escape(", ".join(in_words({name: value[0] for name, value in spread.items()})))
    if others or values.ndim > 1:
        return f"{len(values)} members at even steps of {html.escape(', '.join(spread))}"
    coloured = (f'<span style="color:{ink}">{value:.4g}</span>' for ink, value in zip(_INK, values, strict=False))
    return f"{html.escape(name)} = {', '.join(coloured)}"


def _captioned(picture: str, words: str) -> str:
    style = f"text-align:center;font-size:85%;line-height:1.3;max-width:{SIZE + 40}px"
    return f'<div style="{style}">{picture}<div>{words}</div></div>'


def _shape(family: AbstractFamily, parameters: Mapping[str, Any]) -> list[np.ndarray]:
    """Lines (n, 2): the curves of the plane, or the sides and middles of the patches of a surface, seen from the
    side."""
    if not family.in_space:
        return outlines(family, parameters, 120)
    surface: Any = family
    grids = patch_grids(surface, parameters, 8) @ _VIEW.T
    return [line for grid in grids for line in (*grid[::4], *grid[:, ::4].swapaxes(0, 1))]


def _seen(x: np.ndarray, normal: np.ndarray, values: np.ndarray) -> str:
    """The nodes of a surface that face the eye, those in front last."""
    eye = np.cross(*_VIEW)
    facing = np.flatnonzero(normal @ eye > 0)
    order = facing[np.argsort(x[facing] @ eye)]
    dots = [(x[i : i + 1] @ _VIEW.T, _signed(values[i])) for i in order[:: max(1, len(order) // 1000)]]
    return _svg(dots, scale=True)


def _coloured(x: np.ndarray, values: np.ndarray, components: int) -> str:
    """Curves in pieces of their own colours."""
    pieces = []
    for curve, value in zip(np.split(x, components), np.split(values, components), strict=True):
        step = max(1, len(curve) // 120)
        closed = np.concatenate([curve, curve[:1]])
        pieces += [(closed[i : i + step + 1], _signed(value[i])) for i in range(0, len(curve), step)]
    return _svg(pieces, width=3, scale=True)


def _along(values: np.ndarray, weight: np.ndarray, top: float) -> str:
    lines = []
    for i, (value, length) in enumerate(zip(values, weight, strict=False)):
        step = max(1, len(value) // 200)
        arc = (np.cumsum(length) - length)[::step] / np.sum(weight, axis=-1).max()
        height = np.clip(value[::step] / (1.25 * top), -1.2, 1.2)
        lines.append((np.stack([2 * arc, height.real], axis=1), _INK[i % len(_INK)]))
        if np.iscomplexobj(values):
            lines.append((np.stack([2 * arc, height.imag], axis=1), _INK[i % len(_INK)] + "99"))
    frame = np.array([[0.0, -1.2], [2.0, 1.2]])
    picture = _svg([(np.array([[0.0, 0.0], [2.0, 0.0]]), "#9999"), *lines], frame=frame)
    parts = "real and, pale, imaginary part, " if np.iscomplexobj(values) else ""
    reach = f"{np.real(values).min():.2g} to {np.real(values).max():.2g}"
    return _captioned(picture, f"{parts}{reach}, over {np.sum(weight, axis=-1).max():.3g} of arclength")


def _signed(value: Any) -> str:
    """From blue over grey to red; seen on white and on black."""
    share = float(np.clip(value, -1, 1))
    ends, middle = np.array([[43, 112, 182], [198, 44, 58]]), np.array([150, 150, 150])
    red, green, blue = (middle + abs(share) * (ends[int(share > 0)] - middle)).astype(int)
    return f"#{red:02x}{green:02x}{blue:02x}"


def _svg(
    lines: Sequence[tuple[np.ndarray, str]],
    *,
    frame: np.ndarray | None = None,
    width: float = 1.5,
    scale: bool = False,
) -> str:
    """Lines and, of one point, dots; below them a bar of a round length, where there is a scale."""
    points = np.concatenate([line for line, _ in lines]) if frame is None else frame
    low, high = points.min(axis=0), points.max(axis=0)
    unit = (SIZE - 12) / max(np.max(high - low), 1e-12)
    across, up = unit * (high - low) + 12
    drawn = []
    for line, colour in lines:
        x, y = (6 + unit * (line - low)).T
        if len(line) == 1:
            drawn.append(f'<circle cx="{x[0]:.1f}" cy="{up - y[0]:.1f}" r="1.6" fill="{colour}"/>')
            continue
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, up - y, strict=True))
        drawn.append(f'<polyline points="{path}" stroke="{colour}"/>')
    if scale:
        length = _round_length((across - 12) / unit / 2)
        end = 6 + unit * length
        drawn.append(
            f'<path d="M6 {up + 3:.1f}v6m0 -3H{end:.1f}m0 -3v6" stroke="currentColor" stroke-width="1"/>'
            f'<text x="{end + 5:.1f}" y="{up + 10:.1f}" font-size="11" fill="currentColor">{length:g}</text>'
        )
        # Room for the number behind a bar that is longer than half of a narrow picture.
        across, up = max(across, end + 35), up + 14
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{across:.0f}" height="{up:.0f}" fill="none" '
        f'stroke-width="{width}" stroke-linejoin="round">{"".join(drawn)}</svg>'
    )


def _round_length(most: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is no longer."""
    ten = 10.0 ** np.floor(np.log10(max(most, 1e-300)))
    return max(step * ten for step in (1, 2, 5) if step * ten <= most * (1 + 1e-9))
