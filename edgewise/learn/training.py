"""One training run, ready to go: the equation of fixed members by Gauss-Newton, or the paper's steps by Adam."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from edgewise.learn import optimisers
from edgewise.learn.collocation import conditioned_systems, training_members
from edgewise.learn.curve_training import AbstractTraining
from edgewise.learn.drawn import mean_square
from edgewise.learn.equivariant_training import EquivariantTraining
from edgewise.learn.expansion_training import ExpansionTraining
from edgewise.learn.many import ManyTraining
from edgewise.learn.optimisers import State
from edgewise.learn.recipes import Recipe
from edgewise.learn.revolved_training import AnySpaceTraining, training_in_space
from edgewise.problem import Problem
from edgewise.quadrature import rule_for


class Training(AbstractTraining):
    """Few parameters, or the paper's recipe."""

    def __init__(self, problem: Problem, recipe: Recipe, seed: int):
        is_kress = recipe.collocation.rule == "kress"
        self.rule = rule_for(problem.family, recipe.collocation.nodes if is_kress else recipe.validation.nodes)
        dtype = np.dtype(recipe.dtype)
        members = training_members(problem.parameters, recipe.collocation.members, dtype, recipe.network.octaves)
        systems = conditioned_systems(problem, self.rule, members, recipe.collocation.members, dtype)
        super().__init__(problem, recipe, seed, systems)
        self.systems = systems if is_kress else None
        self._adam_steps = jax.jit(
            lambda state, first, count: optimisers.adam_steps(state, self.loss, recipe.optimiser, first, count),
            static_argnums=2,
        )

    def start(self) -> State:
        if self.recipe.optimiser.name == "adam":
            return optimisers.adam_start(self.first_weights, self.recipe.optimiser)
        return optimisers.gauss_newton_start(self.first_weights, self.recipe.optimiser)

    def advance(self, state: State, step: int, count: int) -> State:
        """`count` more steps after the first `step`."""
        # Otherwise a GPU rounds the factors of products in single precision to three digits.
        with jax.default_matmul_precision("highest"):
            if self.recipe.optimiser.name == "adam":
                return self._adam_steps(state, jnp.asarray(step), count)
            assert self.systems is not None, "Gauss-Newton has fixed members"
            for _ in range(count):
                state = optimisers.gauss_newton_step(
                    state, self.rest, self.unravel, self.systems, self.units, (self.rule, self.problem.family)
                )
        return state

    def loss(self, weights: Array, step: Array) -> Array:
        """Mean square of the residual; of the paper's rules with the members that this step draws."""
        network = self.network(weights)
        if self.systems is not None:
            residual = jax.vmap(lambda s: s.residual(network))(self.systems) / self.units
            return jnp.sum(jnp.abs(residual) ** 2)
        key = jax.random.fold_in(self.draws, step)
        return mean_square(network, self.problem, self.recipe.collocation, key, self.dtype)


AnyTraining = Training | ManyTraining | EquivariantTraining | ExpansionTraining | AnySpaceTraining


def training_for(problem: Problem, recipe: Recipe, seed: int) -> AnyTraining:
    """A run on curves, for few parameters or many, or on surfaces."""
    if problem.family.in_space:
        return training_in_space(problem, recipe, seed)
    by_kind = {"modal": ManyTraining, "equivariant": EquivariantTraining, "expansion": ExpansionTraining}
    return by_kind.get(recipe.network.kind, Training)(problem, recipe, seed)
