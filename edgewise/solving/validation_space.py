"""What `solve` refuses of surfaces: bodies that do not close, that touch, overlap or lie in each other."""

import equinox as eqx
import numpy as np
from jaxtyping import Array

from edgewise.geometry.surface import AbstractSurface
from edgewise.geometry.surface_checks import arrangement, clearance, closing_gap
from edgewise.problem import Problem
from edgewise.quadrature import rule_for
from edgewise.solving.validation import Values, words

# Patches whose sides agree to rounding have smaller gaps, also in single precision.
CLOSED = 1e-5
# Nodes of two bodies that are closer than this, in spacings of a coarse rule, touch as far as any rule can tell.
TOUCHING = 1e-6


def check_surfaces(problem: Problem, values: Values, count: int) -> None:
    """Refuses bodies that are not finite, do not close, touch, overlap, or lie in each other against the side."""
    family = problem.family
    if not isinstance(family, AbstractSurface):
        return
    for index in range(count):
        member = {name: np.asarray(value[index]) for name, value in values.items()}
        where = words(member)  # pyright: ignore[reportArgumentType]
        x, weight = (np.asarray(part) for part in _nodes(family, member))
        if not (np.all(np.isfinite(x)) and np.all(weight > 0)):
            raise ValueError(
                f"The surface is not finite, or has no area somewhere{where}; expected smooth patches for every s in "
                "[0, 1]². Check `family` and the `Box`."
            )
        gaps = closing_gap(family, member)
        if not np.all(gaps < CLOSED):
            body = f"Body {int(np.argmax(gaps))} of the `Union`" if len(gaps) > 1 else "The surface"
            raise ValueError(
                f"{body} does not close{where}: what flows round its patches leaves {np.max(gaps):.1e} of itself over; "
                "expected 0. Patches must cover a closed surface, with ∂x/∂u × ∂x/∂v outward on all of them: one may "
                "be missing, or its coordinates swapped."
            )
        if len(family.bodies) > 1:
            _check_arrangement(problem, family, member, x, weight, where)


@eqx.filter_jit
def _nodes(family: AbstractSurface, member: dict) -> tuple[Array, Array]:
    boundary = rule_for(family, 8).place(family, member, float)
    return boundary.x, boundary.weight


def _check_arrangement(
    problem: Problem, family: AbstractSurface, member: dict, x: np.ndarray, weight: np.ndarray, where: str
) -> None:
    found = arrangement(family, member)
    apart = clearance(x, weight, family.bodies)
    for kind, wrong in (("overlap", found.overlaps), ("touch", apart < TOUCHING)):
        if wrong.any():
            first, second = np.argwhere(wrong)[0]
            raise ValueError(
                f"Bodies {first} and {second} {kind}{where}; expected bodies apart from each other. Move them apart, "
                "or narrow the `Box`; half-balls that touch are one ball: `Sphere()`."
            )
    holds = found.holds
    if problem.side != "interior" and holds.any():
        outer, inner = np.argwhere(holds)[0]
        raise ValueError(
            f"Body {inner} of the `Union` lies inside body {outer}{where}; on side {problem.side!r} expected bodies "
            'apart from each other. Write `side="interior"` for a domain with holes.'
        )
    if problem.side == "interior":
        outer = int(np.argmax(holds.sum(axis=1)))
        stray = [j for j in range(len(holds)) if j != outer and not (holds[outer, j] and holds[:, j].sum() == 1)]
        if stray:
            raise ValueError(
                f'Body {stray[0]} of the `Union` is no hole in body {outer}{where}; on side "interior" expected one '
                'outer body and holes in it. Move it, or write `side="exterior"` for several bodies.'
            )
