"""Training for many parameters: other members every step, and steps of Gauss and Newton that never store a Jacobian."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from edgewise.base.precision import complex_dtype
from edgewise.learn import stochastic
from edgewise.learn.collocation import Values, conditioned, conditioned_systems, conditioner, equation, training_members
from edgewise.learn.curve_training import AbstractTraining
from edgewise.learn.modal import Modal
from edgewise.learn.optimisers import State, parts
from edgewise.learn.recipes import Recipe
from edgewise.problem import Problem
from edgewise.quadrature import rule_for

# The longest step.
LONGEST = 1.0
# Members by which the sizes of unknowns and residuals are known.
SIZED_BY = 64


class ManyTraining(AbstractTraining):
    """Every step draws members from the box and, for each, random combinations of the rows of its equation.

    The equation is near the identity, so that few combinations of many members say more than all rows of few.
    """

    def __init__(self, problem: Problem, recipe: Recipe, seed: int):
        dtype = np.dtype(recipe.dtype)
        members = training_members(problem.parameters, SIZED_BY, dtype, recipe.network.octaves)
        self.rule = rule_for(problem.family, recipe.collocation.nodes)
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

            return stochastic.step(state, look, self.recipe.optimiser, number, LONGEST), None

        return jax.lax.scan(one, state, first + jnp.arange(count))[0]

    def _look(self, weights: Array, key: Array) -> stochastic.Linearised:
        """The mean square residual of the rows that this step draws, relative to the data.

        Where the network is linear in numbers of the data, every row has such numbers of its own, which costs nothing.
        """
        count, targets = self.recipe.collocation.members, self.recipe.collocation.targets
        shape_key, data_key, mix_key = jax.random.split(key, 3)
        members = self._sample(shape_key, count)
        network: Any = self.network(weights)
        drawn = self._sample(data_key, count * targets)
        data = {name: drawn[name].reshape(count, targets, *drawn[name].shape[1:]) for name in network.amounts.names}

        def one(parameters, data, key):
            system = conditioned(self.problem, equation(self.problem, self.rule, parameters, self.dtype))
            matrix = parts(system.matrix @ network.basis(system.nodes, parameters) / self.units[:, None])
            mix = jax.random.normal(key, (targets, len(matrix)), self.dtype) / (count * targets) ** 0.5
            each = jax.vmap(lambda own: self._rhs(parameters | own))(data) if data else parts(system.rhs / self.units)
            mix = mix / jnp.linalg.norm(each, axis=-1, keepdims=True)
            own = {**parameters, **data}
            axes = {name: 0 if name in data else None for name in own}
            amounts = jax.vmap(lambda p: network.amounts(p, self.dtype), in_axes=(axes,), axis_size=targets)(own)
            return _layers(network, parameters, amounts, mix @ matrix, jnp.sum(mix * each, axis=-1))

        residual, seen, slopes = jax.vmap(one)(members, data, jax.random.split(mix_key, count))
        return _linearised(residual, seen, slopes, self.unravel)

    def _sample(self, key: Array, count: int) -> Values:
        """Members of the box: one half evenly, the other denser to the ends of intervals, where a network errs most."""
        drawn = self.problem.parameters.sample(key, count)
        for name, spec in self.problem.parameters.specs:
            second = (jnp.arange(count) % 2).reshape(-1, *[1] * len(spec.shape))
            drawn[name] = jnp.where(second, spec.toward_ends(drawn[name]), drawn[name])
        return {name: value.astype(self.dtype) for name, value in drawn.items()}

    def _rhs(self, parameters: Values) -> Float[Array, " rows"]:
        """One member's right-hand side in units of the data."""
        member = self.problem.member(self.rule, parameters, self.dtype)
        rhs = member.representation.rhs(member)
        rhs = rhs.astype(complex_dtype(self.dtype)) if self.shape.is_complex else rhs
        return parts(conditioner(self.problem, member.boundary)(rhs) / self.units)


def _layers(
    network: Modal, parameters: Values, amounts: Array, matrix: Array, rhs: Array
) -> tuple[Array, tuple[Array, ...], tuple[Array, ...]]:
    """The residual of one member, what each layer saw, and the derivative of the residual in what each layer gives."""

    def rows(shifts):
        numbers, seen = network.coefficients(parameters, shifts)
        return jnp.einsum("rg,gc,rc->r", amounts, numbers, matrix) - rhs, seen

    nothing = tuple(jnp.zeros_like(bias) for bias in network.biases)
    residual, backward, seen = jax.vjp(rows, nothing, has_aux=True)
    (slopes,) = jax.vmap(backward)(jnp.eye(len(rhs), dtype=rhs.dtype))
    return residual, seen, slopes


def _linearised(
    residual: Float[Array, "m r"], seen: tuple[Array, ...], slopes: tuple[Array, ...], unravel: Any
) -> stochastic.Linearised:
    """For a layer z = W a + b the derivative in W is (∂r/∂z) aᵀ, so that a and ∂r/∂z are all that a step needs.

    The Jacobian itself would have a column for every weight; J Jᵀ is made layer by layer, (a·a' + 1) times
    (∂r/∂z)(∂r/∂z)'ᵀ.
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
        shares = [
            jnp.einsum("mro,mo->mr", slope, a @ weight.T + bias)
            for a, slope, weight, bias in zip(seen, slopes, moved.weights, moved.biases, strict=True)
        ]
        return jnp.sum(jnp.stack(shares), axis=0).reshape(-1)

    def backward(values):
        values = values.reshape(members, targets)
        shares = [jnp.einsum("mr,mro->mo", values, slope) for slope in slopes]
        weights = [share.T @ a for share, a in zip(shares, seen, strict=True)]
        # In the order of the network's fields, as `unravel` has them.
        return jnp.concatenate([part.reshape(-1) for part in (*weights, *(share.sum(0) for share in shares))])

    return stochastic.Linearised(residual.reshape(-1), gram, forward, backward)
