"""Training on surfaces: rows of many members' equations, and functions that advance a network and measure its error."""

import abc
from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from edgewise.learn import optimisers, stochastic
from edgewise.learn.building import build_network, shape_of
from edgewise.learn.collocation import Values, row_names, training_members
from edgewise.learn.drawn import mean_square, members_in_space
from edgewise.learn.multiplied import data_names
from edgewise.learn.networks import AbstractNetwork, split_trainable, unknowns
from edgewise.learn.operator import in_precision
from edgewise.learn.optimisers import State
from edgewise.learn.recipes import Recipe
from edgewise.learn.surfaces import Rows, draw_targets, rows_of
from edgewise.problem import Problem
from edgewise.quadrature import Duffy

# The longest step of stochastic Gauss-Newton: rows of few targets are noisy.
LONGEST = 0.3
# Rows that a validation member is looked at by.
SEEN_ROWS = 48


class AbstractSpaceTraining(abc.ABC):
    """What stays the same during a run on surfaces; as `training.Training` on curves."""

    def __init__(self, problem: Problem, recipe: Recipe, seed: int):
        self.problem, self.recipe = problem, recipe
        self.dtype = np.dtype(recipe.dtype)
        start, validation, self.draws = jax.random.split(jax.random.key(seed), 3)
        self.rng = np.random.default_rng(seed)
        self.shape = shape_of(problem, self.dtype)
        # In double precision the misfit is that of the network alone.
        precise = np.dtype(float)
        rule, count = Duffy(recipe.validation.nodes), recipe.validation.members
        members = {n: v.astype(precise) for n, v in self.drawn_members(validation, count).items()}
        nodes = rule.nodes(problem.family)
        targets = draw_targets(self.rng, count, np.ones(nodes), min(SEEN_ROWS, nodes))
        self.validation = rows_of(problem, rule, members, targets, precise)
        size = _data_size(problem, self.validation)
        network = build_network(problem, recipe, self.shape, jnp.full(1, size, self.dtype), start)
        trainable, self.rest = split_trainable(network)
        self.first_weights, self.unravel = jax.flatten_util.ravel_pytree(trainable)

    def drawn_members(self, key: Array, count: int) -> Values:
        return self.problem.parameters.sample(key, count)

    def network(self, weights: Array) -> AbstractNetwork:
        return eqx.combine(self.unravel(weights), self.rest)

    @abc.abstractmethod
    def start(self) -> State:
        """The state before the first step."""

    @abc.abstractmethod
    def advance(self, state: State, step: int, count: int) -> State:
        """`count` more steps after the first `step`."""

    @property
    def loss_names(self) -> tuple[str, ...]:
        return row_names(self.problem)

    def misfit(self, weights: Array) -> dict[str, Any]:
        """The relative error of the boundary condition on members never trained on: by name, and the worst."""
        network = in_precision(self.network(weights), self.validation.matrix.real.dtype)
        relative, largest = _misfits(network, self.problem, self.validation)
        losses = {self.loss_names[0]: float(jnp.sqrt(jnp.mean(relative**2)))}
        return {"losses": losses, "misfit": float(jnp.max(relative)), "misfit_max": float(largest)}

    def bank(self, values: Values, chances: Float[np.ndarray, " n"], order: np.ndarray | None = None) -> Rows:
        """Rows of these members, at targets drawn with these chances along this order of the nodes."""
        count = len(next(iter(values.values())))
        rule, recipe = Duffy(self.recipe.collocation.nodes), self.recipe.collocation
        targets = draw_targets(self.rng, count, chances, min(recipe.targets, len(chances)), order)
        return rows_of(self.problem, rule, values, targets, self.dtype)

    def lattice(self, count: int) -> Values:
        """Members spread over the box; parameters that data alone depend on have any value."""
        free = data_names(self.problem)
        shaped = training_members(self.problem.parameters.without(free), count, self.dtype)
        other = self.problem.parameters.sample(self.draws, count)
        return shaped | {name: other[name].astype(self.dtype) for name in free}


class StochasticTraining(AbstractSpaceTraining):
    """Any network: a bank of rows of many members, of which every step takes some, with data drawn anew."""

    def __init__(self, problem: Problem, recipe: Recipe, seed: int):
        super().__init__(problem, recipe, seed)
        chances = np.ones(Duffy(recipe.collocation.nodes).nodes(problem.family))
        self.rows = self.bank(self.lattice(recipe.collocation.members), chances)
        self._steps = eqx.filter_jit(self._scan)

    def start(self) -> State:
        return stochastic.start(self.first_weights, self.recipe.collocation.members)

    def advance(self, state: State, step: int, count: int) -> State:
        return self._steps(state, self.rows, jnp.asarray(step), count)

    def _scan(self, state: State, rows: Rows, first: Array, count: int) -> State:
        def one(state, number):
            def look(weights, residuals):
                return self._look(weights, residuals, rows, jax.random.fold_in(self.draws, number))

            return stochastic.step(state, look, self.recipe.optimiser, number, LONGEST), None

        return jax.lax.scan(one, state, first + jnp.arange(count))[0]

    def _look(
        self, weights: Array, residuals: Array, rows: Rows, key: Array
    ) -> tuple[stochastic.Linearised, Float[Array, " b"]]:
        """The members that this step draws, real and imaginary parts of all rows under each other."""
        count = self.recipe.collocation.batch
        first, second = jax.random.split(key)
        drawn = stochastic.pick(first, residuals, count)
        fresh = self.problem.parameters.sample(second, count)
        free = {name: fresh[name].astype(self.dtype) for name in data_names(self.problem)}
        some: Rows = jax.tree_util.tree_map(lambda leaf: leaf[drawn], rows)

        def one(member):
            rows, free = member
            return self._rows(weights, rows, rows.parameters | free)

        jacobian, residual = jax.lax.map(one, (some, free), batch_size=16)
        sizes = jnp.linalg.norm(residual, axis=1)
        jacobian = jacobian.reshape(-1, jacobian.shape[-1]) / count**0.5
        return stochastic.from_matrix(jacobian, residual.reshape(-1) / count**0.5), residuals.at[drawn].set(sizes)

    def _rows(self, weights: Array, rows: Rows, parameters: Values) -> tuple[Array, Array]:
        """Jacobian and residual of one member, such that the sum of squares is relative to the data."""
        data = rows.rhs(self.problem, parameters)
        scale = jnp.sqrt(rows.weight)
        scale = scale / jnp.linalg.norm(scale * data)

        def at(node):
            def parts(weights):
                network = self.network(weights)
                value = network.decode(network.encode(parameters), network.features(node))[0]
                return jnp.stack([value.real, value.imag])

            return jax.jacrev(parts)(weights)

        slopes = jax.vmap(at)(rows.member.boundary)
        matrix = rows.matrix * scale[:, None]
        residual = scale * (rows.matrix @ unknowns(self.network(weights), rows.member.boundary, parameters) - data)
        if not self.shape.is_complex:
            return matrix @ slopes[:, 0], residual
        real, imaginary = matrix.real, matrix.imag
        jacobian = [
            real @ slopes[:, 0] - imaginary @ slopes[:, 1],
            imaginary @ slopes[:, 0] + real @ slopes[:, 1],
        ]
        return jnp.concatenate(jacobian), jnp.concatenate([residual.real, residual.imag])


class PaperTraining(AbstractSpaceTraining):
    """The paper's training: random nodes and targets every step, by Adam."""

    def __init__(self, problem: Problem, recipe: Recipe, seed: int):
        super().__init__(problem, recipe, seed)

        def loss(weights, step):
            key = jax.random.fold_in(self.draws, step)
            return mean_square(self.network(weights), problem, recipe.collocation, key, self.dtype)

        self._steps = jax.jit(
            lambda state, first, count: optimisers.adam_steps(state, loss, recipe.optimiser, first, count),
            static_argnums=2,
        )

    def drawn_members(self, key: Array, count: int) -> Values:
        return members_in_space(self.problem.parameters, key, count, float)

    def start(self) -> State:
        return optimisers.adam_start(self.first_weights, self.recipe.optimiser)

    def advance(self, state: State, step: int, count: int) -> State:
        # Otherwise a GPU rounds the factors of products in single precision to three digits.
        with jax.default_matmul_precision("highest"):
            return self._steps(state, jnp.asarray(step), count)


@eqx.filter_jit
def _data_size(problem: Problem, rows: Rows) -> Float[Array, ""]:
    """The root mean square of each right-hand side; 1 where it is zero."""
    sizes = jax.lax.map(lambda r: jnp.mean(jnp.abs(r.rhs(problem, r.parameters)) ** 2), rows)
    size = jnp.sqrt(jnp.mean(sizes))
    return jnp.where(size > 0, size, 1)


@eqx.filter_jit
def _misfits(network: AbstractNetwork, problem: Problem, rows: Rows) -> tuple[Float[Array, " b"], Float[Array, ""]]:
    """The relative residual of every member, and the largest value over the largest datum."""

    def one(rows: Rows):
        data = rows.rhs(problem, rows.parameters)
        missed = jnp.abs(rows.matrix @ unknowns(network, rows.member.boundary, rows.parameters) - data)
        amount, left = (jnp.sum(rows.weight * jnp.abs(part) ** 2) for part in (data, missed))
        peak = jnp.max(jnp.abs(data))
        return jnp.sqrt(left / jnp.where(amount > 0, amount, 1)), jnp.max(missed) / jnp.where(peak > 0, peak, 1)

    relative, largest = jax.lax.map(one, rows)
    return relative, jnp.max(largest)
