"""Variable projection for networks that are linear except for their poles: Gauss-Newton for the poles, and for each set
of poles all weights at once.

What the equations of a member ask of the density of order m is a least-squares problem for few coefficients, one for
every harmonic of the wave's direction, and all that training needs of its rows K and right-hand sides y are KᴴK, Kᴴy
and |y|². The weights for given poles solve normal equations; the poles take Gauss-Newton steps of what is left
(variable projection).
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.scipy.linalg
from jaxtyping import Array, Complex, Float

from edgewise.geometry import Boundary
from edgewise.learn.revolved import Revolved, by_order, orders
from edgewise.learn.surfaces import Rows
from edgewise.problem import Problem
from edgewise.special import on_sphere, real_harmonics

# The normal equations are regularised by this share of their size, some roundings.
SMALL = 1e-14
# Steps are tried with λ times each of these in turn until the residual falls; poles move by no more than this at once.
TRIALS, FARTHEST = (0.1, 1.0, 10.0, 100.0), 0.3


class Normal(NamedTuple):
    """The normal equations of every order m (first axis) and member (second axis)."""

    gram: Complex[Array, "m b k k"]
    moment: Complex[Array, "m b k l"]
    """One column for every degree l; zero where l < m."""
    size: Float[Array, "m b"]
    """|y|²."""


@eqx.filter_jit
def reduce(network: Revolved, problem: Problem, rows: Rows, chances: Float[Array, " n"], count: int) -> Normal:
    """The normal equations of members along the first axis, from rows at targets that were drawn with these chances;
    harmonics of the direction by `count` directions from pole to pole."""
    directions, weights = on_sphere(count)
    waves = real_harmonics(network.degree, jnp.asarray(directions)) * weights[:, None]
    first = jax.tree_util.tree_map(lambda leaf: leaf[0], rows)
    # The boundary coordinate is the same on all members.
    features = jax.vmap(network.features)(first.member.boundary)
    order = orders(network.order)

    def one(rows: Rows):
        targets = rows.member.on.targets  # pyright: ignore[reportAttributeAccessIssue]
        seen: Boundary = jax.tree_util.tree_map(lambda leaf: leaf[targets], rows.member.boundary)
        scale = jnp.sqrt(jnp.sqrt(rows.weight) / chances[targets])
        matrix = jnp.einsum("rn,nok->rok", rows.matrix, features) * scale[:, None, None] * network.output.size.value[0]

        def data(direction):
            return problem.data_on(seen, {**rows.parameters, network.direction: direction})

        values = jax.vmap(data)(jnp.asarray(directions)).T @ waves * scale[:, None]
        blocks = by_order(values, network.order)
        grams, moments, sizes = [], [], []
        for m, block in enumerate(blocks):
            own = matrix[:, order == m]
            grams.append(jnp.einsum("rpa,rpb->ab", own.conj(), own))
            moment = jnp.einsum("rpa,rpl->al", own.conj(), block)
            moments.append(jnp.pad(moment, ((0, 0), (m, 0))))
            sizes.append(jnp.sum(jnp.abs(block) ** 2))
        return Normal(jnp.stack(grams), jnp.stack(moments), jnp.stack(sizes))

    found = jax.lax.map(one, rows)
    return jax.tree_util.tree_map(lambda leaf: jnp.moveaxis(leaf, 0, 1), found)


@eqx.filter_jit
def leverage(network: Revolved, nodes: Boundary) -> Float[Array, " n"]:
    """Leverage score of each node, the largest over the orders m; used as sampling probability.

    Targets are drawn with these chances: drawn evenly, the few nodes next to an axis or an edge would leave polynomials
    free there.
    """
    features = jax.vmap(network.features)(nodes) * (nodes.weight**0.25)[:, None, None]
    order = orders(network.order)
    total = jnp.zeros_like(nodes.weight)
    for m in range(network.order + 1):
        columns = features[:, order == m].reshape(len(total), -1)
        basis = jnp.linalg.qr(columns)[0]
        total = jnp.maximum(total, jnp.sum(basis**2, axis=1))
    return total


class Fit(NamedTuple):
    """The best weights for given poles, and the residual that they leave."""

    weights: Complex[Array, "m k j l"]
    loss: Float[Array, ""]
    """The sum of squares of the residual over that of the right-hand sides."""
    residual: Float[Array, " b"]
    """The root mean square residual of each member, relative to the data."""


@eqx.filter_jit
def solve(network: Revolved, parameters: dict[str, Array], normal: Normal, poles: Array) -> Fit:
    return _solve(functions_of(network, parameters, poles), normal)[0]


def functions_of(network: Revolved, parameters: dict[str, Array], poles: Array) -> Complex[Array, "b j"]:
    return jax.vmap(lambda p: network.functions(p, poles))(parameters)


def _solve(functions: Complex[Array, "b j"], normal: Normal) -> tuple[Fit, Any]:
    # In orthonormal functions: polynomials and poles resemble each other.
    basis, triangle = jnp.linalg.qr(functions)
    j, k = basis.shape[1], normal.gram.shape[-1]

    def one(normal: Normal):
        gram = jnp.einsum("bxy,bi,bj->xiyj", normal.gram, basis.conj(), basis).reshape(k * j, k * j)
        right = jnp.einsum("bxl,bi->xil", normal.moment, basis.conj()).reshape(k * j, -1)
        shift = SMALL * jnp.max(jnp.abs(jnp.diagonal(gram)))
        factor = jnp.linalg.cholesky(gram + shift * jnp.eye(k * j))
        weights = jax.scipy.linalg.cho_solve((factor, True), right).reshape(k, j, -1)
        code = jnp.einsum("xjl,bj->bxl", weights, basis)
        left = jnp.einsum("bxl,bxy,byl->b", code.conj(), normal.gram, code).real
        left = left - 2 * jnp.einsum("bxl,bxl->b", code.conj(), normal.moment).real + normal.size
        return weights, left, factor

    weights, left, factors = jax.lax.map(one, normal)
    left = jnp.maximum(jnp.sum(left, axis=0), 0)
    sizes = jnp.sum(normal.size, axis=0)
    plain = jax.scipy.linalg.solve_triangular(triangle, jnp.moveaxis(weights, 2, 0).reshape(j, -1))
    weights = jnp.moveaxis(plain.reshape(j, *weights.shape[:2], -1), 0, 2)
    return Fit(weights, jnp.sum(left) / jnp.sum(sizes), jnp.sqrt(left / sizes)), (basis, factors)


@eqx.filter_jit
def step(
    network: Revolved, parameters: dict[str, Array], normal: Normal, poles: Array, damping: Array
) -> tuple[Array, Array, Fit]:
    """Poles, λ and fit after one Gauss-Newton step of the poles, which stay where no step makes the residual
    smaller."""
    functions = functions_of(network, parameters, poles)
    fit, (basis, factors) = _solve(functions, normal)
    if not poles.size:
        return poles, damping, fit
    slopes = jax.jacfwd(lambda p: functions_of(network, parameters, p))(poles).reshape(*functions.shape, -1)

    def one(part):
        normal, weights, factor = part
        code = jnp.einsum("xjl,bj->bxl", weights, functions)
        left = jnp.einsum("bxy,byl->bxl", normal.gram, code) - normal.moment
        moved = jnp.einsum("xjl,bjs->bsxl", weights, slopes)
        slope = jnp.einsum("bsxl,bxl->s", moved.conj(), left).real
        made = jnp.einsum("bxy,bsyl->bsxl", normal.gram, moved)
        bend = jnp.einsum("bsxl,btxl->st", moved.conj(), made).real
        # What the weights would take up of it.
        seen = jnp.einsum("bi,bsxl->xils", basis.conj(), made).reshape(factor.shape[0], -1, slope.shape[0])
        whitened = jax.scipy.linalg.solve_triangular(factor, seen.reshape(factor.shape[0], -1), lower=True)
        whitened = whitened.reshape(-1, slope.shape[0])
        return slope, bend - (whitened.conj().T @ whitened).real

    slope, bend = (jnp.sum(x, axis=0) for x in jax.lax.map(one, (normal, fit.weights, factors)))

    def attempt(factor):
        shifted = bend + damping * factor * jnp.diag(jnp.diagonal(bend))
        move = jnp.clip(-jnp.linalg.solve(shifted, slope), -FARTHEST, FARTHEST).reshape(poles.shape)
        return poles + jnp.where(jnp.isfinite(move), move, 0.0)

    def worse(state):
        tried, _, found = state
        return (tried < len(TRIALS)) & ((tried == 0) | ~(found.loss < fit.loss))

    def next_trial(state):
        tried, _, _ = state
        places = attempt(jnp.asarray(TRIALS)[tried])
        return tried + 1, places, _solve(functions_of(network, parameters, places), normal)[0]

    tried, places, found = jax.lax.while_loop(worse, next_trial, (jnp.zeros((), int), poles, fit))
    better = found.loss < fit.loss
    damping = jnp.where(better, 0.3 * damping * jnp.asarray(TRIALS)[tried - 1], 100 * damping)
    chosen = jax.tree_util.tree_map(lambda a, b: jnp.where(better, a, b), found, fit)
    return jnp.where(better, places, poles), jnp.clip(damping, 1e-10, 1e8), chosen
