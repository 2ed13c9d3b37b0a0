"""Training on bodies of revolution, and which training a recipe asks for on surfaces."""

from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from edgewise.learn import projection
from edgewise.learn.collocation import Values
from edgewise.learn.networks import split_trainable
from edgewise.learn.optimisers import State
from edgewise.learn.recipes import Recipe
from edgewise.learn.revolved import Revolved
from edgewise.learn.space_training import AbstractSpaceTraining, PaperTraining, StochasticTraining
from edgewise.problem import Problem
from edgewise.quadrature import Duffy

# Nodes are drawn by what they decide, and this share of them evenly.
EVENLY = 0.1
# Members are drawn where the residual is large when the poles have taken so many steps.
DRAW_AFTER = 8
# Directions, from pole to pole, by which harmonics of degree l are told from those of higher degree: l and so many
# more.
MORE_DIRECTIONS = 10


class RevolvedTraining(AbstractSpaceTraining):
    """Bodies of revolution: poles by Gauss-Newton, all weights at once; half of the members where the residual is
    large."""

    def __init__(self, problem: Problem, recipe: Recipe, seed: int):
        super().__init__(problem, recipe, seed)
        network: Any = self.network(self.first_weights)
        self.skeleton = network
        self.box = network.inputs.box
        count = recipe.collocation.members
        self.evenly = self.lattice(count - count // 2)
        rule = Duffy(recipe.collocation.nodes)
        first = {name: value[0] for name, value in self.evenly.items()}
        nodes = rule.place(problem.family, first, self.dtype)
        leverage = np.asarray(projection.leverage(network, nodes))
        self.chances = (1 - EVENLY) * leverage / leverage.mean() + EVENLY
        line, along, _, _ = jax.vmap(network.family.value.meridian)(nodes.s)
        self.order = np.lexsort((np.asarray(along), np.asarray(line)))
        self.normal = self._reduced(self.evenly)
        self.members = self.evenly

    def _reduced(self, values: Values) -> projection.Normal:
        rows = self.bank(values, self.chances, self.order)
        count = self.recipe.network.harmonics + MORE_DIRECTIONS
        return projection.reduce(self.skeleton, self.problem, rows, jnp.asarray(self.chances), count)

    def start(self) -> State:
        count = self.recipe.collocation.members // 2
        drawn = {f"drawn.{name}": jnp.full((count, *spec.shape), jnp.nan) for name, spec in self.box.specs}
        zero = {"damping": jnp.asarray(self.recipe.optimiser.damping), "loss": jnp.asarray(jnp.inf)}
        return {"weights": self.first_weights} | zero | drawn

    def advance(self, state: State, step: int, count: int) -> State:
        for number in range(step, step + count):
            state = self._step(state, number)
        return state

    def _step(self, state: State, number: int) -> State:
        network: Any = self.network(state["weights"])
        if number == DRAW_AFTER and self.recipe.collocation.members > 1:
            state = state | self._draw(network, number)
        self._join(state)
        poles, damping, fit = projection.step(self.skeleton, self.members, self.normal, network.poles, state["damping"])
        new = eqx.tree_at(lambda n: (n.poles, n.weights), network, (poles, _as_weights(fit.weights)))
        weights = jax.flatten_util.ravel_pytree(split_trainable(new)[0])[0]
        return state | {"weights": weights, "damping": damping, "loss": fit.loss}

    def _draw(self, network: Revolved, number: int) -> State:
        """Members near those of the lattice, drawn with probabilities by the size of their residual."""
        residual = projection.solve(self.skeleton, self.evenly, self.normal, network.poles).residual
        first, second = jax.random.split(jax.random.fold_in(self.draws, number))
        count = self.recipe.collocation.members // 2
        picked = jax.random.choice(first, len(residual), (count,), p=residual**2 / jnp.sum(residual**2))
        shift = jax.random.uniform(second, (count,), minval=-1.0)
        parts = len(residual) ** (1 / max(1, len(self.box.specs)))
        return {f"drawn.{name}": spec.moved(self.evenly[name][picked], shift, parts) for name, spec in self.box.specs}

    def _join(self, state: State) -> None:
        """Adds the drawn members, once they are there: also where a run is continued."""
        drawn = {name: state[f"drawn.{name}"] for name in self.box.names}
        if self.members is not self.evenly or not drawn or np.any(np.isnan(next(iter(drawn.values())))):
            return
        more = self._reduced(self._with_direction(drawn))
        self.normal = jax.tree_util.tree_map(lambda *parts: jnp.concatenate(parts, axis=1), self.normal, more)
        joined = {name: jnp.concatenate([self.evenly[name], drawn[name]]) for name in drawn}
        self.members = self._with_direction(joined)

    def _with_direction(self, values: Values) -> Values:
        name = self.skeleton.direction
        count = len(next(iter(values.values())))
        return values | {name: jnp.tile(self.evenly[name][0], (count, 1))}


def _as_weights(found: Array) -> tuple[Array, ...]:
    """For every order m the degrees l >= m, real and imaginary parts apart."""
    return tuple(
        jnp.stack([part.real, part.imag]).swapaxes(-1, -2) for part in (w[..., m:] for m, w in enumerate(found))
    )


AnySpaceTraining = StochasticTraining | PaperTraining | RevolvedTraining


def training_in_space(problem: Problem, recipe: Recipe, seed: int) -> AnySpaceTraining:
    """The training on surfaces that a recipe asks for."""
    if recipe.network.kind == "revolved":
        return RevolvedTraining(problem, recipe, seed)
    return (PaperTraining if recipe.collocation.rule == "montecarlo" else StochasticTraining)(problem, recipe, seed)
