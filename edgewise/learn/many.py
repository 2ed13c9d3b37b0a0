"""Training for many parameters: other members every step, and steps of Gauss and Newton that never store a Jacobian."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from edgewise.learn import stochastic
from edgewise.learn.collocation import Values, conditioned, equation, training_members
from edgewise.learn.curve_training import AbstractTraining, conditioned_systems
from edgewise.learn.modal import Modal
from edgewise.learn.networks import AbstractMadeOf, AbstractNetwork, times_factor
from edgewise.learn.optimisers import State
from edgewise.learn.recipes import Recipe
from edgewise.problem import Problem
from edgewise.quadrature import Kress

# Members by which the sizes of unknowns and residuals are known.
SIZED_BY = 64


class ManyTraining(AbstractTraining):
    """Every step draws members from the box and, of each, random combinations of the rows of its equation.

    The equation is near the identity, so that few combinations of many members say more than all rows of few.
    """

    def __init__(self, problem: Problem, recipe: Recipe, seed: int):
        dtype = np.dtype(recipe.dtype)
        members = training_members(problem.parameters, SIZED_BY, dtype)
        self.rule = Kress(recipe.collocation.nodes)
        super().__init__(problem, recipe, seed, conditioned_systems(problem, self.rule, members, SIZED_BY, dtype))
        self._steps = eqx.filter_jit(self._scan)

    def start(self) -> State:
        return stochastic.start(self.first_weights, 0)

    def advance(self, state: State, step: int, count: int) -> State:
        # Otherwise a GPU rounds the factors of products in single precision to three digits.
        with jax.default_matmul_precision("highest"):
            return self._steps(state, jnp.asarray(step), count)

    def _scan(self, state: State, first: Array, count: int) -> State:
        def one(state, number):
            def look(weights, residuals):
                return self._look(weights, jax.random.fold_in(self.draws, number)), residuals

            return stochastic.step(state, look, self.recipe.optimiser, number), None

        return jax.lax.scan(one, state, first + jnp.arange(count))[0]

    def _look(self, weights: Array, key: Array) -> stochastic.Linearised:
        """The members that this step draws: of all rows together the mean square, relative to the data."""
        count, targets = self.recipe.collocation.members, self.recipe.collocation.targets
        first, second = jax.random.split(key)
        members = {name: value.astype(self.dtype) for name, value in self.problem.parameters.sample(first, count).items()}
        network = self.network(weights)
        modal = network.network if isinstance(network, AbstractMadeOf) else network
        assert isinstance(modal, Modal), "see `check_recipe`"

        def one(parameters, key):
            matrix, rhs = self._equation(network, modal, parameters)
            mix = jax.random.normal(key, (targets, len(rhs)), self.dtype) / (count * targets) ** 0.5
            mix = mix / jnp.linalg.norm(rhs)
            return _layers(modal, parameters, mix @ matrix, mix @ rhs)

        residual, seen, slopes = jax.vmap(one)(members, jax.random.split(second, count))
        return _linearised(residual, seen, slopes, self.unravel)

    def _equation(self, network: AbstractNetwork, modal: Modal, parameters: Values) -> tuple[Array, Array]:
        """One member's equation for the network's real numbers, in units of the data; real and imaginary parts of all rows."""
        system = conditioned(self.problem, equation(self.problem, self.rule, parameters, self.dtype))
        count = len(system.nodes.s)
        basis = modal.basis(system.nodes)
        for first in range(0, count * self.shape.channels, count):
            rows = slice(first, first + count)
            basis = basis.at[rows].set(times_factor(network, basis[rows], system.nodes, parameters))
        matrix = system.matrix @ basis / self.units[:, None]
        rhs = system.rhs / self.units
        if not self.shape.is_complex:
            return matrix, rhs
        return jnp.concatenate([matrix.real, matrix.imag]), jnp.concatenate([rhs.real, rhs.imag])


def _layers(network: Modal, parameters: Values, matrix: Array, rhs: Array) -> tuple[Array, Any, Any]:
    """The residual of one member, what each layer saw, and the derivative of the residual in what each layer gives."""

    def rows(shifts):
        numbers, seen = network.coefficients(parameters, shifts)
        return matrix @ numbers - rhs, seen

    nothing = tuple(jnp.zeros_like(bias) for bias in network.biases)
    residual, backward, seen = jax.vjp(rows, nothing, has_aux=True)
    (slopes,) = jax.vmap(backward)(jnp.eye(len(rhs), dtype=rhs.dtype))
    return residual, seen, slopes


def _linearised(
    residual: Float[Array, "m r"], seen: tuple[Array, ...], slopes: tuple[Array, ...], unravel: Any
) -> stochastic.Linearised:
    """Of a layer z = W a + b the derivative in W is (∂r/∂z) aᵀ: products of a and of ∂r/∂z are all that a step needs.

    The Jacobian itself would have a column for every weight; J Jᵀ is made layer by layer, (a·a' + 1) times (∂r/∂z)(∂r/∂z)'ᵀ.
    """
    members, targets = residual.shape
    rows = members * targets
    gram = jnp.zeros((rows, rows), residual.dtype)
    for a, slope in zip(seen, slopes, strict=True):
        flat = slope.reshape(rows, -1)
        alike = jnp.repeat(jnp.repeat(a @ a.T + 1, targets, 0), targets, 1)
        gram = gram + (flat @ flat.T) * alike

    def forward(direction):
        moved = unravel(direction)
        moved = moved.network if isinstance(moved, AbstractMadeOf) else moved
        parts = [
            jnp.einsum("mro,mo->mr", slope, a @ weight.T + bias)
            for a, slope, weight, bias in zip(seen, slopes, moved.weights, moved.biases, strict=True)
        ]
        return sum(parts).reshape(-1)

    def backward(values):
        values = values.reshape(members, targets)
        shares = [jnp.einsum("mr,mro->mo", values, slope) for slope in slopes]
        weights = [share.T @ a for share, a in zip(shares, seen, strict=True)]
        # In the order of the network's fields, as `unravel` has them.
        return jnp.concatenate([part.reshape(-1) for part in (*weights, *(share.sum(0) for share in shares))])

    return stochastic.Linearised(residual.reshape(-1), gram, forward, backward)
