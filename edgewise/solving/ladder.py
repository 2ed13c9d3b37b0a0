"""Which rules `solve` tries in turn where the caller names none: more nodes until the density has settled."""

import math
from typing import Any

import numpy as np

from edgewise.base.named import bind
from edgewise.problem import Problem
from edgewise.quadrature import AbstractQuadrature

# Nodes along a side of a patch that a digit takes: where to begin, and on spheres what is enough.
DIGIT, SURE_DIGIT = 2.0, 2.7


def first(problem: Problem, rules: list[AbstractQuadrature], values: dict[str, Any], tol: float) -> AbstractQuadrature:
    """Where to begin: on surfaces, with what the waves will take."""
    if not rules[0].is_dear:
        return rules[0]
    least = wanted_for(problem, values, tol)
    return next((rule for rule in rules if rule.size >= least), rules[-1])


def wanted_for(problem: Problem, values: dict[str, Any], tol: float, per_digit: float = DIGIT) -> int:
    """Nodes along a side of each patch that waves of the kernel take at the least, and a smooth density."""
    k = np.abs(getattr(bind(problem.representation.kernel, values), "wavenumber", 0.0))
    return math.ceil(float(np.max(k)) * patch_radius(problem, values) + per_digit * math.log10(1 / tol))


def patch_radius(problem: Problem, values: dict[str, Any]) -> float:
    """The largest half-diameter of a patch, of any of these members."""
    family: Any = problem.family
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
    higher = [other for other in rules if other.size > rule.size]
    if not higher:
        return None
    wanted = rule.size * rule.growth(reached, tol)
    return next((other for other in higher if other.size >= wanted), higher[-1])
