"""One step of the paper's rules: members and nodes drawn anew, and what the network's field misses on them."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact, PRNGKeyArray

from edgewise.base.named import bind
from edgewise.base.parameters import Box
from edgewise.geometry import Boundary
from edgewise.learn.collocation import System, Values
from edgewise.learn.networks import AbstractNetwork, unknowns
from edgewise.learn.recipes import CollocationRecipe
from edgewise.problem import Problem
from edgewise.quadrature import MonteCarlo, Uniform
from edgewise.quadrature.paper import truncated_kernel


def mean_square(
    network: AbstractNetwork, problem: Problem, recipe: CollocationRecipe, key: PRNGKeyArray, dtype: Any
) -> Float[Array, ""]:
    """The loss of one step, the mean over members and targets for each channel; `key` decides all draws."""
    if problem.family.in_space:
        return on_surfaces(network, problem, recipe, key, dtype)
    residual = jax.vmap(lambda s: s.residual(network))(on_curves(problem, recipe, key, dtype))
    return jnp.mean(jnp.abs(residual) ** 2) * problem.condition.channels


def on_curves(problem: Problem, recipe: CollocationRecipe, key: PRNGKeyArray, dtype: Any) -> System:
    """The equations of the members that one step draws, at random nodes if the rule has them."""
    members, nodes, targets = jax.random.split(key, 3)
    drawn = problem.parameters.sample(members, recipe.members)
    values = {name: value.astype(dtype) for name, value in drawn.items()}
    if recipe.rule == "uniform":
        rule: Uniform | MonteCarlo = Uniform(recipe.nodes)
        grids = (_line(recipe.nodes, dtype), _line(recipe.targets, dtype))
    else:
        rule = MonteCarlo(recipe.nodes)
        grids = (_scattered(nodes, recipe.nodes, dtype), _scattered(targets, recipe.targets, dtype))
    return jax.vmap(lambda p: observed(problem, rule, grids, p, dtype), axis_size=recipe.members)(values)


def observed(
    problem: Problem, rule: Uniform | MonteCarlo, grids: tuple[Array, Array], parameters: Values, dtype: Any
) -> System:
    """The paper's equation: unknowns on the rule's nodes, asked to hold on targets apart from them.

    `grids` are the coordinates of nodes and targets. There is no polynomial and no constraint.
    """
    nodes, targets = (
        problem.family.boundary(grid, jnp.full(grid.shape, 2 * np.pi / grid.shape[0], dtype), parameters)
        for grid in grids
    )
    kernel = bind(problem.representation.kernel, parameters)

    def layer(name):
        return rule.observe(kernel, name, targets, nodes)

    data = problem.data_on(targets, parameters)
    if problem.condition.channels == 2:
        matrix = jnp.block(
            [
                [layer("single") / nodes.jacobian, layer("double")],
                [layer("adjoint_double") / nodes.jacobian, layer("hypersingular")],
            ]
        )
        data = data.reshape(-1)
    else:
        matrix = layer("single") / nodes.jacobian
    # The network's scalars are not seen.
    matrix = jnp.pad(matrix, ((0, 0), (0, problem.representation.kernel.polynomials)))
    return System(matrix, data, nodes, parameters)


def on_surfaces(
    network: AbstractNetwork, problem: Problem, recipe: CollocationRecipe, key: PRNGKeyArray, dtype: Any
) -> Float[Array, ""]:
    """The mean square residual of a single layer with the network's density, integrated by random nodes.

    The layer's rows are made once, `recipe.chunk` at a time: its matrix, which would fill gigabytes, is never held.
    """
    first, second = jax.random.split(key)
    values = members_in_space(problem.parameters, first, recipe.members, dtype)
    truncation = MonteCarlo(recipe.nodes).truncation

    def member(drawn):
        parameters, key = drawn
        nodes, targets = (
            _on_patches(problem.family, own, count, parameters, dtype)
            for own, count in zip(jax.random.split(key), (recipe.nodes, recipe.targets), strict=True)
        )
        kernel = bind(problem.representation.kernel, parameters)
        return _mean_of_squares(
            lambda some: truncated_kernel(kernel, "single", some, nodes, truncation),
            nodes.weight / nodes.jacobian * unknowns(network, nodes, parameters),
            targets,
            problem.data_on(targets, parameters),
            recipe.chunk,
        )

    # One after the other: side by side they would take the memory of all.
    return jnp.mean(jax.lax.map(member, (values, jax.random.split(second, recipe.members))))


def _mean_of_squares(
    rows: Callable[[Boundary], Inexact[Array, "c n"]],
    strengths: Inexact[Array, " n"],
    targets: Boundary,
    data: Inexact[Array, " m"],
    chunk: int,
) -> Float[Array, ""]:
    """Mean of |A strengths - data|² over the targets; the rows of A are made once for the value and its derivative."""
    count = data.shape[0]
    # The last chunk is filled up with targets that do not count.
    order = jnp.arange(-(-count // chunk) * chunk).reshape(-1, chunk)
    known = jax.lax.stop_gradient(strengths)

    def add(sums, some):
        matrix = rows(jax.tree_util.tree_map(lambda leaf: leaf[some % count], targets))
        missed = jnp.where(some < count, _product(matrix, known) - data[some % count], 0)
        return (sums[0] + jnp.sum(jnp.abs(missed) ** 2), sums[1] + _product(matrix.T, missed.conj())), None

    start = jnp.zeros((), known.real.dtype), jnp.zeros_like(known)
    (squares, slope), _ = jax.lax.scan(add, start, order)
    # The second term is zero but has the derivative of the squares: autodiff of the scan would store or remake all
    # rows.
    return (squares + 2 * jnp.sum(slope * (strengths - known)).real) / count


def _product(matrix: Inexact[Array, "m n"], vector: Inexact[Array, " n"]) -> Inexact[Array, " m"]:
    """matrix @ vector by real products: complex ones take five times as long on the CPU."""
    if not jnp.iscomplexobj(matrix):
        return matrix @ vector
    parts = jnp.stack([vector.real, vector.imag])
    (a, b), (c, d) = parts @ matrix.real.T, parts @ matrix.imag.T
    return jax.lax.complex(a - d, b + c)


def members_in_space(box: Box, key: PRNGKeyArray, count: int, dtype: Any) -> Values:
    """Uniform draws, except that directions keep their default: the paper's wave comes along the axis for every
    member."""
    drawn = box.sample(key, count)
    for name, spec in box.specs:
        if spec.shape and spec.default is not None:
            drawn[name] = jnp.tile(jnp.asarray(spec.default), (count, 1))
    return {name: value.astype(dtype) for name, value in drawn.items()}


def _line(count: int, dtype: Any) -> Array:
    """Both ends of the closed curve, as the authors' script has them."""
    return jnp.asarray(np.linspace(0, 2 * np.pi, count), dtype)


def _scattered(key: Array, count: int, dtype: Any) -> Array:
    return jax.random.uniform(key, (count,), dtype, maxval=2 * np.pi)


def _on_patches(family: Any, key: Array, count: int, parameters: Values, dtype: Any) -> Boundary:
    """About `count` nodes, drawn separately on every patch, equally many on each."""
    each = max(1, count // family.patches)
    grid = jax.random.uniform(key, (family.patches, each, 2), dtype)
    return family.boundary(grid, jnp.full(each, 1 / each, dtype), parameters)
