"""`NeuralDensity`: the density that a network gives, as a function on the boundary."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact

from edgewise.density import BETWEEN_NODES, AbstractDensity
from edgewise.geometry import AbstractFamily, Boundary
from edgewise.learn.networks import AbstractNetwork, joined, times_factor, unknowns
from edgewise.problem import Problem
from edgewise.quadrature import AbstractQuadrature
from edgewise.quadrature.rule import sides


class NeuralDensity(AbstractDensity):
    """The density that the network gives for one member: values at the nodes of a rule, and a call at any
    coordinate."""

    s: Float[Array, "n ..."]
    """One coordinate per node on curves, two on surfaces."""
    values: Inexact[Array, "... n"]
    """A pair of densities has two rows."""
    parameters: dict[str, Array]
    network: AbstractNetwork
    problem: Problem

    def __call__(self, s: Float[Array, "..."]) -> Inexact[Array, "..."]:
        if sides(self.problem.family):
            raise ValueError(BETWEEN_NODES)
        node = self.problem.family.node(jnp.asarray(s, self.s.dtype), self.parameters)
        unknown = unknowns(self.network, node, self.parameters)[: self.problem.condition.channels]
        # Only how a density is made from unknowns is asked for, which no number of the representation changes.
        representation, condition = self.problem.representation, self.problem.condition
        return representation.density(node, condition, unknown)[..., 0]

    def member(self, index: int) -> "NeuralDensity":
        s, values, parameters = jax.tree_util.tree_map(lambda leaf: leaf[index], (self.s, self.values, self.parameters))
        return NeuralDensity(s, values, parameters, self.network, self.problem)


class Reading(eqx.Module):
    """A network on the nodes of a rule, with whatever all members share computed once."""

    network: AbstractNetwork
    features: Any
    """The features at the rule's nodes, if they depend on the boundary coordinate alone."""

    def __init__(self, network: AbstractNetwork, rule: AbstractQuadrature, family: AbstractFamily, dtype: Any):
        self.network = network
        self.features = jax.vmap(network.features)(_coordinates(rule, family, dtype)) if network.is_shared else None

    def unknowns(self, nodes: Boundary, parameters: Mapping[str, Any], code: Any = None) -> Inexact[Array, " cn+p"]:
        """As `networks.unknowns`."""
        if self.features is None:
            return unknowns(self.network, nodes, parameters, code)
        code = self.network.encode(parameters) if code is None else code
        values = jax.vmap(lambda features: self.network.decode(code, features))(self.features)
        # Nodes of surfaces, and those graded to corners, are in the rule's order.
        is_plain = nodes.s.ndim == 1 and nodes.anchor is None
        values = _in_order(values, nodes) if is_plain else values
        return joined(times_factor(self.network, values, nodes, parameters), self.network.scalars(code))


def _coordinates(rule: AbstractQuadrature, family: AbstractFamily, dtype: Any) -> Boundary:
    """The rule's nodes with nothing but their coordinates known."""
    # Not to be seen as a constant: XLA would compute all features while it compiles, and keep them in what it compiled.
    s = jax.lax.optimization_barrier(jnp.asarray(family.coordinates(np.asarray(rule.grid()[0])), dtype))
    unknown = jnp.full(len(s), jnp.nan, dtype)
    vectors = jnp.stack([unknown] * family.dim, axis=-1)
    return Boundary(s, vectors, vectors, unknown, unknown, unknown, components=family.components)


def _in_order(values: Array, nodes: Boundary) -> Array:
    """Values at a rule's nodes in the order of a member's nodes, which is reversed on a curve that runs clockwise."""
    split = values.reshape(nodes.components, -1, *values.shape[1:])
    s = nodes.s.reshape(nodes.components, -1)
    backwards = (s[:, 2] < s[:, 1])[:, None, None]
    return jnp.where(backwards, split[:, -np.arange(split.shape[1])], split).reshape(values.shape)
