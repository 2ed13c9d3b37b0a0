"""Training of networks that are linear in their weights, by the residual of the equation alone.

The equation is linear too: what is to be made small is one least-squares problem. Conjugate gradients solve it; a
matrix is never made of it.
"""

import abc
import functools
import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np
from jaxtyping import Array, Float, Inexact

from edgewise.geometry import Boundary
from edgewise.learn.collocation import Values, conditioned_systems, training_members
from edgewise.learn.curve_training import AbstractTraining
from edgewise.learn.optimisers import State
from edgewise.learn.recipes import Recipe
from edgewise.problem import Problem
from edgewise.quadrature import rule_for

# Members by which the sizes of unknowns and the mean of equations are known, and how many are assembled at a time.
SIZED_BY, PIECE = 64, 64
# What is added to normal equations, in units of rounding.
ROUNDINGS = 32


class Seen(NamedTuple):
    """What training needs of its members."""

    products: Float[Array, "..."]
    """The polynomials of all members."""
    matrix: Inexact[Array, "m h h"]
    """The equation between the coefficients of harmonics, scalars last."""
    rhs: Inexact[Array, "m h c"]
    """The right-hand side for each column of the data."""


class AbstractLinearTraining(AbstractTraining):
    """Every step is one of conjugate gradients, all members at once."""

    def __init__(self, problem: Problem, recipe: Recipe, seed: int):
        dtype = np.dtype(recipe.dtype)
        self.rule = rule_for(problem.family, recipe.collocation.nodes)
        sizing = training_members(problem.parameters, SIZED_BY, dtype, recipe.network.octaves)
        systems = conditioned_systems(problem, self.rule, sizing, SIZED_BY, dtype)
        super().__init__(problem, recipe, seed, systems)
        # The mean over members is nearly the equation of a member in the middle, so its inverse preconditions all
        # others.
        self.inverse = jnp.linalg.inv(jax.vmap(self.between_harmonics)(systems.matrix, systems.nodes).mean(axis=0))
        self._steps = eqx.filter_jit(self._scan)

    @property
    @abc.abstractmethod
    def alone(self) -> tuple[str, ...]:
        """Parameters that are not sampled, since the network is exact in them."""

    @abc.abstractmethod
    def between_harmonics(self, matrix: Inexact[Array, "rows unknowns"], nodes: Boundary) -> Inexact[Array, "h h"]:
        """The matrix of the equation between coefficients of harmonics, in units of the unknowns."""

    @abc.abstractmethod
    def look(self, members: Values) -> tuple[Array, Array, Array]:
        """Polynomials, equations and right-hand sides of some members."""

    @abc.abstractmethod
    def joined(self, pieces: list[tuple[Array, Array, Array]]) -> Seen:
        """What was computed for the members."""

    @property
    @abc.abstractmethod
    def factors(self) -> Any:
        """The parts that make the preconditioner."""

    @abc.abstractmethod
    def equations(self, seen: Seen, weights: Array) -> Inexact[Array, "m h c"]:
        """What the equations make of the answers to all columns; linear in the weights."""

    @abc.abstractmethod
    def preconditioned(self, factors: Any, slope: Array) -> Array:
        """The preconditioned slope."""

    def start(self) -> State:
        nothing = jnp.zeros_like(self.first_weights)
        return {
            "weights": nothing,
            "direction": nothing,
            "slope": jnp.zeros((), self.dtype),
            "loss": jnp.asarray(jnp.inf, self.dtype),
        }

    def advance(self, state: State, step: int, count: int) -> State:
        with jax.default_matmul_precision("highest"):
            return self._steps(state, self.seen, self.factors, count)

    def _scan(self, state: State, seen: Seen, factors: Any, count: int) -> State:
        """Steps that begin with a fresh residual, so that rounding does not add up, and go on in the last direction.

        "slope" is sᵀM⁻¹s, with s the slope of the residual's square and M the preconditioner.
        """
        weights, size = state["weights"], jnp.sum(jnp.abs(seen.rhs) ** 2)
        forward = functools.partial(self.equations, seen)
        transposed = jax.linear_transpose(forward, weights)

        def one(carry, _):
            weights, left, before, slope = carry
            # Weights are real: of Jᴴ the real part.
            s = transposed(left.conj())[0]
            z = self.preconditioned(factors, s)
            new = s @ z
            direction = z + jnp.where(slope > 0, new / jnp.where(slope > 0, slope, 1), 0) * before
            ahead = forward(direction)
            square = jnp.sum(jnp.abs(ahead) ** 2)
            length = new / jnp.where(square > 0, square, 1)
            return (weights + length * direction, left - length * ahead, direction, new), None

        start = (weights, seen.rhs - forward(weights), state["direction"], state["slope"])
        (weights, left, direction, slope), _ = jax.lax.scan(one, start, length=count)
        loss = jnp.sum(jnp.abs(left) ** 2) / jnp.where(size > 0, size, 1)
        return {"weights": weights, "direction": direction, "slope": slope, "loss": loss}

    @functools.cached_property
    def seen(self) -> Seen:
        """All members: assembled in pieces, with the first step."""
        members, look = self._members(), eqx.filter_jit(self.look)
        pieces = [
            look({name: value[start : start + PIECE] for name, value in members.items()})
            for start in range(0, self.recipe.collocation.members, PIECE)
        ]
        return self.joined(pieces)

    def _members(self) -> Values:
        """Members spread over the box of what the network sees; all other parameters as the box draws them first."""
        box, count = self.problem.parameters.without(self.alone), self.recipe.collocation.members
        # Whole pieces: compiled once.
        full = math.ceil(count / PIECE) * PIECE
        drawn = training_members(box, full, self.dtype, self.recipe.network.octaves)
        rest = self.problem.parameters.sample(self.draws, 1)
        fixed = {name: jnp.tile(rest[name], (full, *[1] * (rest[name].ndim - 1))) for name in self.alone}
        return drawn | {name: value.astype(self.dtype) for name, value in fixed.items()}


def inverse_factor(gram: Float[Array, "n n"], empty: Any = False) -> Float[Array, "n n"]:
    """The inverse of the factor L of normal equations LLᵀ; where they are empty, of the identity."""
    largest = jnp.max(jnp.diag(gram))
    ridge = ROUNDINGS * len(gram) ** 0.5 * jnp.finfo(gram.dtype).eps * jnp.where(largest > 0, largest, 1)
    factor = jax.scipy.linalg.cholesky(
        gram + jnp.diag(jnp.where(empty, 1, ridge) * jnp.ones(len(gram), gram.dtype)), lower=True
    )
    return jax.scipy.linalg.solve_triangular(factor, jnp.eye(len(gram), dtype=gram.dtype), lower=True)
