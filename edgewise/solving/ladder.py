"""Which rules `solve` tries in turn where the caller names none: more nodes until the density has settled."""

import math
from typing import Any

import numpy as np

from edgewise.base.named import bind
from edgewise.geometry.surface import AbstractSurface
from edgewise.problem import Problem
from edgewise.quadrature import AbstractQuadrature, Duffy, Graded, Kress
from edgewise.quadrature.rule import next_shared, sides

# Nodes on each curve.
CURVES = (128, 192, 256, 320, 384, 448, 512, 640, 768, 1024, 1536, 2048)
# A corner takes a good part of them.
CORNER_NODES = 256
# The power of the nodes that errors at corners fall with, or faster.
CORNER_ORDER = 8
# Nodes along a side of each patch, in panels of no more than so many; and the most on all patches: their matrix takes a gigabyte.
PATCHES, PANEL, MOST = (6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 36, 48, 64), 16, 8192
# Nodes along a side of a patch that a digit takes: where to begin, and on spheres what is enough.
DIGIT, SURE_DIGIT = 2.0, 2.7


def rungs(problem: Problem) -> list[AbstractQuadrature]:
    """The rules for this geometry, from few nodes to many."""
    family = problem.family
    if isinstance(family, AbstractSurface):
        few = [side for side in PATCHES if family.patches * side**2 <= MOST] or [PATCHES[0]]
        return [patch_rule(side) for side in few]
    shares = sides(family)
    if not shares:
        return [Kress(nodes) for nodes in CURVES]
    counts = [next_shared(max(nodes, CORNER_NODES), shares) for nodes in CURVES]
    return [Graded(count) for count in dict.fromkeys(counts)]


def patch_rule(side: int) -> Duffy:
    """So many nodes along a side of every patch, or a few more: on as few panels as can have them."""
    panels = -(-side // PANEL)
    return Duffy(-(-side // panels), panels)


def nodes_of(rule: AbstractQuadrature) -> int:
    """What a rung is measured by: nodes on each curve, or along a side of each patch."""
    return rule.num_nodes * (rule.panels if isinstance(rule, Duffy) else 1)


def first(problem: Problem, rules: list[AbstractQuadrature], values: dict[str, Any], tol: float) -> AbstractQuadrature:
    """Where to begin: on surfaces, with what the waves will take."""
    if not isinstance(problem.family, AbstractSurface):
        return rules[0]
    least = wanted_for(problem, values, tol)
    return next((rule for rule in rules if nodes_of(rule) >= least), rules[-1])


def wanted_for(problem: Problem, values: dict[str, Any], tol: float, per_digit: float = DIGIT) -> int:
    """Nodes along a side of each patch that waves of the kernel take at the least, and a smooth density."""
    k = np.abs(getattr(bind(problem.representation.kernel, values), "wavenumber", 0.0))
    return math.ceil(float(np.max(k)) * patch_radius(problem, values) + per_digit * math.log10(1 / tol))


def patch_radius(problem: Problem, values: dict[str, Any]) -> float:
    """The largest half-diameter of a patch, of any of these members."""
    family = problem.family
    assert isinstance(family, AbstractSurface)
    corners = np.stack(np.meshgrid(*[np.linspace(0, 1, 5)] * 2), axis=-1).reshape(-1, 2)
    count = len(next(iter(values.values()))) if values else 1
    radius = 0.0
    for i in range(0, count, max(1, count // 8)):
        member = {name: value[i] for name, value in values.items()}
        x = np.stack([np.asarray(bind(family, member).atlas(corner, member)) for corner in corners])
        radius = max(radius, float(np.linalg.norm(x - x.mean(axis=0), axis=-1).max()))
    return radius


def after(
    rules: list[AbstractQuadrature], rule: AbstractQuadrature, reached: float, tol: float
) -> AbstractQuadrature | None:
    """The next rule to try, judged by how far coefficients have fallen; None on the last rung."""
    higher = [other for other in rules if nodes_of(other) > nodes_of(rule)]
    if not higher:
        return None
    reached = min(reached, 0.5)
    if isinstance(rule, Graded):
        growth = min((reached / tol) ** (1 / CORNER_ORDER), 2.5)
    else:
        # Coefficients fall geometrically: the worst member's rate tells how many nodes it needs. Where they have hardly begun
        # to fall a rate says little, so that no step is large.
        growth = min(math.log(tol) / math.log(reached), 1.5 if isinstance(rule, Duffy) else 2)
    wanted = nodes_of(rule) * growth
    return next((other for other in higher if nodes_of(other) >= wanted), higher[-1])
