"""What all training runs on curves share: the network at its start, units of the residual, and validation members."""

import abc
import math
from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from edgewise.learn.building import Shape, build_network, shape_of, unknown_sizes
from edgewise.learn.collocation import System, Values, equation, row_names, training_members
from edgewise.learn.networks import AbstractNetwork, split_trainable, unknowns
from edgewise.learn.operator import in_precision
from edgewise.learn.optimisers import State
from edgewise.learn.recipes import Recipe
from edgewise.problem import Problem
from edgewise.quadrature import AbstractQuadrature, rule_for
from edgewise.solving.validation import check_data

# Room for sums over nodes and members, and for the inverse symbol, which multiplies by powers of a wave number.
LEAST, MOST = 1e3, 1e6


class AbstractTraining(abc.ABC):
    """What stays the same during a run. The state that changes is a dict of arrays, passed in and out.

    Everything random follows from the seed: the network's start, validation members, and what step i draws.
    """

    def __init__(self, problem: Problem, recipe: Recipe, seed: int, systems: System):
        """`systems` are those of a few members, conditioned: they say how large unknowns and residuals are."""
        self.problem, self.recipe = problem, recipe
        self.dtype = np.dtype(recipe.dtype)
        self.beginning, _, self.draws = _keys(seed)
        self.shape = shape_of(problem, self.dtype)
        self.sizes = unknown_sizes(systems.rhs, recipe, self.shape)
        self.units = _units(systems, self.sizes, self.shape)
        trainable, self.rest = split_trainable(self.new_network(recipe))
        self.first_weights, self.unravel = jax.flatten_util.ravel_pytree(trainable)
        drawn = validation_members(problem, recipe, seed)
        self.validation_members = {name: value.astype(self.dtype) for name, value in drawn.items()}
        # In double precision the misfit is that of the network alone.
        precise = most_precise(self.dtype)
        self.validation = _equations(
            problem,
            rule_for(problem.family, recipe.validation.nodes),
            {name: value.astype(precise) for name, value in drawn.items()},
            recipe.validation.members,
            precise,
        )

    @abc.abstractmethod
    def start(self) -> State:
        """The state before the first step."""

    @abc.abstractmethod
    def advance(self, state: State, step: int, count: int) -> State:
        """`count` more steps after the first `step`."""

    def new_network(self, recipe: Recipe) -> AbstractNetwork:
        """The network at its start; by a recipe with other sizes, as a run by that recipe would start."""
        return build_network(self.problem, recipe, self.shape, self.sizes, self.beginning)

    def network(self, weights: Array) -> AbstractNetwork:
        return eqx.combine(self.unravel(weights), self.rest)

    def misfit(self, weights: Array) -> dict[str, Any]:
        """The relative error of the boundary condition on members never trained on: by name, and the worst."""
        network = in_precision(self.network(weights), self.validation.rhs.real.dtype)
        named, worst, largest = _misfit(
            network, self.validation, self.shape.channels, constrained=self.recipe.network.scalars
        )
        losses = {name: float(value) for name, value in zip(self.loss_names, named, strict=True)}
        return {"losses": losses, "misfit": float(worst), "misfit_max": float(largest)}

    @property
    def loss_names(self) -> tuple[str, ...]:
        return (*row_names(self.problem), *(("moments",) if self.shape.scalars else ()))


def _keys(seed: int) -> Array:
    """For the network's start, the validation members, and what the steps draw."""
    return jax.random.split(jax.random.key(seed), 3)


def validation_members(problem: Problem, recipe: Recipe, seed: int) -> Values:
    """Drawn in double precision where there is one, so that a run in float32 sees the same members.

    They include two corners of the box, where polynomials err most, except for networks of many parameters, for which
    corners are not typical.
    """
    key, count = _keys(seed)[1], recipe.validation.members
    few = recipe.network.kind in ("deeponet", "expansion") and count > 2
    return problem.parameters.extremes(key, count) if few else problem.parameters.sample(key, count)


def most_precise(dtype: np.dtype) -> np.dtype:
    return np.dtype("float64") if jax.config.read("jax_enable_x64") else dtype


def check_members(problem: Problem, recipe: Recipe, seed: int) -> None:
    """Refuses data that `solve` would refuse, or whose squares leave the range of numbers, on the members of a run."""
    dtype = np.dtype(recipe.dtype)
    rule = rule_for(problem.family, 4 if problem.family.in_space else recipe.validation.nodes)
    precise = most_precise(dtype)
    trained = training_members(problem.parameters, recipe.collocation.members, precise, recipe.network.octaves)
    for members, count in (
        (trained, recipe.collocation.members),
        (validation_members(problem, recipe, seed), recipe.validation.members),
    ):
        values = {name: value.astype(precise) for name, value in members.items()}
        largest = float(np.max(check_data(problem, rule, values, count, precise)))
        if 0 < largest < LEAST * np.sqrt(np.finfo(dtype).tiny) or largest > np.sqrt(np.finfo(dtype).max) / MOST:
            how = "overflows" if largest > 1 else "vanishes"
            raise ValueError(
                f"`data` is as large as {largest:.1e} on the boundary; its square, by which `fit` measures, {how} in "
                f"{dtype}. Multiply `data` by a number that brings it near 1: the solution is multiplied by the same."
            )


@eqx.filter_jit
def _equations(problem: Problem, rule: AbstractQuadrature, members: Values, count: int, dtype: Any) -> System:
    return jax.vmap(lambda p: equation(problem, rule, p, dtype), axis_size=count)(members)


def _units(systems: System, sizes: Array, shape: Shape) -> Array:
    """The divisor of each row: the size of its channel, so that the sum of squares is a relative mean square."""
    rows = systems.rhs.shape[1] - shape.scalars
    channel = jnp.repeat(sizes[: shape.channels], rows // shape.channels)
    # A moment is a sum over the nodes: in units of the sum of its coefficients. It is one row, and counts as much as
    # the others of a member together: by itself it is the last thing that conjugate gradients make small.
    moments = jnp.mean(jnp.sum(jnp.abs(systems.matrix[:, rows:]), axis=-1), axis=0) * jnp.max(sizes)
    return jnp.concatenate([channel, moments / math.sqrt(rows)]) * math.sqrt(systems.rhs.size)


@eqx.filter_jit
def _misfit(
    network: AbstractNetwork, systems: System, channels: int, *, constrained: bool
) -> tuple[Array, Array, Array]:
    """For each loss the root mean square over the members, the worst member's, and the largest value, all relative.
    Moments that are `constrained` to be zero count for the worst.

    Where the moments are `constrained` to be zero they count for the worst.
    """
    unknown = jax.vmap(lambda s: unknowns(network, s.nodes, s.parameters))(systems)
    residual = jax.vmap(jnp.matmul)(systems.matrix, unknown) - systems.rhs
    rows = systems.nodes.s.shape[1] * channels
    by_channel = jnp.abs(residual[:, :rows]).reshape(len(residual), channels, -1)
    data = jnp.abs(systems.rhs[:, :rows]).reshape(by_channel.shape)
    # By the nodes' own weights: an integral over the boundary.
    weight = systems.nodes.weight[:, None, :]
    sizes, norms = (jnp.sqrt(jnp.sum(weight * part**2, axis=-1)) for part in (by_channel, data))
    relative = sizes / jnp.where(norms > 0, norms, 1)
    peaks = jnp.max(data, axis=-1)
    largest = jnp.max(jnp.max(by_channel, axis=-1) / jnp.where(peaks > 0, peaks, 1))
    named = [*jnp.sqrt(jnp.mean(relative**2, axis=0))]
    if residual.shape[1] > rows:
        # A moment that should be zero, relative to what cancels in it; or to what would, were unknowns as large as the
        # data: where constants alone answer to them, all else is rounding.
        sizable = jnp.maximum(jnp.abs(unknown), jnp.max(peaks, axis=-1, keepdims=True))
        amounts = jnp.einsum("mij,mj->mi", jnp.abs(systems.matrix[:, rows:]), sizable)
        moments = jnp.abs(residual[:, rows:]) / jnp.where(amounts > 0, amounts, 1)
        named.append(jnp.sqrt(jnp.mean(moments**2)))
        relative = jnp.append(relative, jnp.max(moments)) if constrained else relative
    return jnp.stack(named), jnp.max(relative), largest
