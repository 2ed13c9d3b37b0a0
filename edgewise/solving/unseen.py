"""What the nodes of a rule do not see of the data: found by looking at the data between them, which takes no solve.

Waves that are short against the nodes pass there for longer ones, and a spike may lie between two of them. The
density then settles, for other data. So the data, the coefficient of `Robin` and the curve are looked at in more
points, in step with no nodes, and compared with their interpolant.
"""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Inexact

from edgewise.base.named import bind
from edgewise.base.precision import is_concrete
from edgewise.base.result import Code
from edgewise.geometry import Boundary
from edgewise.problem import Problem
from edgewise.quadrature import AbstractQuadrature
from edgewise.solving.resolution import rounding_of_places
from edgewise.solving.systems import Answer
from edgewise.solving.validation import Settings, Values
from edgewise.special import resample

# Points on a curve: at least twice the nodes, and so many. Odd, so that they share hardly a factor with the nodes,
# and of factors that a fast transform takes. A spike e^{-(s/w)²} shows at the default `tol` where half a step is
# within 5 w, for w of 1e-3 and more.
POINTS = sorted(3**i * 5**j for i in range(9) for j in range(6) if 625 <= 3**i * 5**j <= 10125)
# Points along a side of a panel: so many times its nodes, and at least so many along a side of a patch.
POINTS_ALONG, LEAST_ALONG = 3, 33
# The share of a step by which the first point is beside a node: the golden ratio, so that no wave is the same on both.
SHIFT = (np.sqrt(5) - 1) / 2
# Members looked at together, whose arrays stay in the cache.
TOGETHER = 64


@eqx.filter_jit
def unseen(problem: Problem, rule: AbstractQuadrature, values: Values, count: int, dtype: np.dtype) -> Array:
    """Of each member the largest difference between data and what the nodes take them for, over their largest value."""
    look: Any = _on_panels if rule.is_dear else _on_curves

    def one(parameters):
        return look(problem, rule, parameters, dtype)

    if count <= TOGETHER:
        return jax.vmap(one, axis_size=count)(values)
    return jax.lax.map(one, values, batch_size=TOGETHER)


def first_that_sees(
    problem: Problem, rules: list[AbstractQuadrature], values: Values, count: int, settings: Settings
) -> tuple[AbstractQuadrature, Array]:
    """The first of these rules that sees the data of all members, else the last, and what it does not see."""
    for rule in rules[:-1]:
        missed = unseen(problem, rule, values, count, settings.dtype)
        if not np.any(np.asarray(missed) > settings.tol):
            return rule, missed
    return rules[-1], unseen(problem, rules[-1], values, count, settings.dtype)


def judged(answer: Answer, missed: Array, settings: Settings) -> Answer:
    """How solves ended whose nodes missed so much of the data: not well, where that is more than `tol`.

    Nor can data be said to miss their balance by less than ten times what is not seen of them.
    """
    if is_concrete(missed) and not np.any(np.asarray(missed) > settings.tol):
        return answer
    result, stats = answer.result, answer.stats
    balanced = stats["imbalance"] < 10 * missed
    doubtful = (result.code == Code.CONVERGED) | ((result.code == Code.INCOMPATIBLE) & balanced)
    code = jnp.where(doubtful & (missed > settings.tol), Code.UNRESOLVED, result.code)
    resolution = jnp.maximum(stats["resolution"], missed)
    stats = stats | {"resolution": resolution}
    return answer._replace(result=dataclasses.replace(result, code=code), stats=stats)


def _on_curves(problem: Problem, rule: Any, parameters: Values, dtype: np.dtype) -> Array:
    n = rule.num_nodes
    count = next((points for points in POINTS if points >= 2 * n), 2 * n + 1)
    own, step = rule.grid()[0], 2 * np.pi / count
    sigma = np.concatenate([own, own[0] + step * (np.arange(count) + SHIFT)])
    graded = rule.slows_down
    boundary = (rule.at if graded else _at)(sigma, problem.family, parameters, dtype)
    looked_at = _looked_at(problem, boundary, parameters)
    if not graded:
        # Graded nodes crowd, and no rule on them interpolates the curve.
        looked_at.append(jax.lax.complex(*(boundary.x - boundary.x.mean(axis=0)).T)[None])
    spread = jax.vmap(jax.vmap(lambda values: resample(values, count, step * SHIFT)))
    missed = []
    for rows in looked_at:
        curves = rows.reshape(len(rows), boundary.components, -1)
        missed.append(_missed(curves[..., :n], curves[..., n:], spread(curves[..., :n]), boundary))
    return jnp.stack(missed).max()


def _at(sigma: np.ndarray, family: Any, parameters: Values, dtype: np.dtype) -> Boundary:
    """On smooth curves, of which s is the same for all members, so that they share sines; also on clockwise ones."""
    s, curves = jnp.asarray(sigma, dtype), []
    for curve, direction in zip(family.curves, family.directions(parameters), strict=True):
        turn = jnp.broadcast_to((curve.orientation(parameters) * direction).astype(dtype), s.shape)
        curves.append(curve.boundary_at(s, turn, 1.0, parameters))
    return family.joined(curves)


def _on_panels(problem: Problem, rule: Any, parameters: Values, dtype: np.dtype) -> Array:
    count = max(POINTS_ALONG * rule.num_nodes, -(-LEAST_ALONG // rule.panels)) + 1
    finer = rule.with_more(count - rule.num_nodes)
    nodes, points = (each.place(problem.family, parameters, dtype) for each in (rule, finer))
    missed = []
    for own, true in zip(*(_looked_at(problem, each, parameters) for each in (nodes, points)), strict=True):
        taken = jax.vmap(lambda values: rule.spread(values, finer))(own)
        missed.append(_missed(own, true, taken, nodes))
    return jnp.stack(missed).max()


def _looked_at(problem: Problem, boundary: Boundary, parameters: Values) -> list[Inexact[Array, "r n"]]:
    """The data, and the coefficient of `Robin`; of fluxes what the equation has: multiplied by the jacobian."""
    condition = bind(problem.condition, parameters)
    weight = condition.value_weight(boundary, parameters).astype(boundary.x.dtype)
    data = jnp.atleast_2d(problem.data_on(boundary, parameters, weight))
    if condition.channels == 2 or not condition.takes_flux:
        return [data]
    scale = 1.0 if problem.family.in_space else boundary.jacobian
    return [scale * data] + [scale * weight[None]] * condition.takes_value


def _missed(own: Array, true: Array, taken: Array, boundary: Boundary) -> Array:
    """The largest difference over the largest value; 0 where points far from the origin are rounded as much."""
    size = jnp.maximum(jnp.max(jnp.abs(own)), jnp.max(jnp.abs(true)))
    missed = jnp.max(jnp.abs(true - taken)) / jnp.where(size > 0, size, 1)
    missed = jnp.where(missed > rounding_of_places(boundary.x), missed, 0)
    # Infinite between the nodes: not seen at all. At the nodes: said elsewhere.
    return jnp.where(jnp.isfinite(missed), missed, jnp.where(jnp.all(jnp.isfinite(own)), 1.0, 0.0))
