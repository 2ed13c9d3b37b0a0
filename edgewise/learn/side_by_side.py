"""Runs that differ in the sizes of their networks, trained side by side: one compiled step for all of them."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
from jaxtyping import Array

from edgewise.learn import optimisers
from edgewise.learn.drawn import mean_square
from edgewise.learn.inputs import GaussianFourier
from edgewise.learn.networks import AbstractNetwork, Nomad, split_trainable
from edgewise.learn.operator import in_precision
from edgewise.learn.optimisers import State
from edgewise.learn.recipes import Recipe
from edgewise.learn.training import Training
from edgewise.problem import Problem


class SideBySide:
    """Every run starts and steps as it would alone; members, nodes and kernels of a step are made once for all.

    Networks are filled up with zeros to the sizes of the last, which is the largest. A neuron or a code without weights
    gives zero and has no slope, so that it stays so. Whether Gauss-Newton eliminates or iterates, the largest decides.

    Arguments:
        recipes: Alike but for `neurons` and `p` of their networks, which rise.
    """

    def __init__(self, problem: Problem, recipes: Sequence[Recipe], seed: int):
        self.largest = Training(problem, recipes[-1], seed)
        networks = [self.largest.new_network(recipe) for recipe in recipes]
        ones = [jax.tree_util.tree_map(jnp.ones_like, network) for network in networks]
        self._weights, self._rest = self._stacked(filled(network, networks[-1]) for network in networks)
        self._has_weight = self._stacked(filled(network, networks[-1]) for network in ones)[0]
        self._adam_steps = jax.jit(self._adam, static_argnums=2)

    def start(self) -> State:
        optimiser = self.largest.recipe.optimiser
        if optimiser.name == "adam":
            return jax.vmap(lambda weights: optimisers.adam_start(weights, optimiser))(self._weights)
        return jax.vmap(lambda weights: optimisers.gauss_newton_start(weights, optimiser))(self._weights)

    def advance(self, state: State, step: int, count: int) -> State:
        """`count` more steps of all runs after the first `step`."""
        # The paper's rule is wrong in the second digit: layers whose products have three, of which a GPU makes several
        # times more in a second, leave its error where it is. Gauss-Newton would not converge with them.
        if self.largest.recipe.optimiser.name == "adam":
            with jax.default_matmul_precision("tensorfloat32"):
                return self._adam_steps(state, jnp.asarray(step), count)
        with jax.default_matmul_precision("highest"):
            for _ in range(count):
                state = self._gauss_newton(state)
        return state

    def networks(self, state: State, dtype: Any) -> list[AbstractNetwork]:
        """As they stand, each with its zeros: of one shape, so that what reads them is compiled once."""
        made = [
            jax.tree_util.tree_map(lambda x, i=i: x[i], (state["weights"], self._rest))
            for i in range(len(state["weights"]))
        ]
        return [in_precision(self._network(*parts), dtype) for parts in made]

    def _stacked(self, networks: Any) -> tuple[Array, AbstractNetwork]:
        """Weights as the rows of one array, and the rest with a first axis."""
        trainable, rest = zip(*map(split_trainable, networks), strict=True)
        weights = jnp.stack([jax.flatten_util.ravel_pytree(own)[0] for own in trainable])
        return weights, jax.tree_util.tree_map(lambda *leaves: jnp.stack(leaves), *rest)

    def _network(self, weights: Array, rest: AbstractNetwork) -> AbstractNetwork:
        return eqx.combine(self.largest.unravel(weights), rest)

    def _adam(self, state: State, first: Array, count: int) -> State:
        run, recipe = self.largest, self.largest.recipe

        def one(state, rest, has_weight):
            def loss(weights, step):
                # The cosine of a frequency that was filled in is 1, and would be given a weight.
                network = self._network(weights * has_weight, rest)
                key = jax.random.fold_in(run.draws, step)
                return mean_square(network, run.problem, recipe.collocation, key, run.dtype)

            return optimisers.adam_steps(state, loss, recipe.optimiser, first, count)

        return jax.vmap(one)(state, self._rest, self._has_weight)

    def _gauss_newton(self, state: State) -> State:
        run = self.largest
        systems, place = run.systems, (run.rule, run.problem.family)
        assert systems is not None, "Gauss-Newton has fixed members"

        def one(state, rest):
            return optimisers.gauss_newton_step(state, rest, run.unravel, systems, run.units, place)

        return jax.vmap(one)(state, self._rest)


def filled(network: AbstractNetwork, like: AbstractNetwork) -> AbstractNetwork:
    """The same network, with zeros up to the sizes of another."""

    def pad(own, full):
        return jnp.pad(own, [(0, more - has) for has, more in zip(own.shape, full.shape, strict=True)])

    whole = jax.tree_util.tree_map(pad, _waves_apart(network), _waves_apart(like))
    return _waves_joined(whole)


def _waves_apart(network: AbstractNetwork) -> AbstractNetwork:
    """Weights of cosines and of sines along an axis of their own: zeros go behind each."""
    return _reshaped(network, (2, -1))


def _waves_joined(network: AbstractNetwork) -> AbstractNetwork:
    return _reshaped(network, (-1,))


def _reshaped(network: AbstractNetwork, shape: tuple[int, ...]) -> AbstractNetwork:
    """The weights of Gaussian features in another shape; other networks stay as they are."""
    if not (isinstance(network, Nomad) and isinstance(network.sight, GaussianFourier)):
        return network
    weights = network.from_features
    return eqx.tree_at(lambda n: n.from_features, network, weights.reshape(len(weights), *shape))
