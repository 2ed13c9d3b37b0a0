"""The equation of many members as one residual of the network: which members, which nodes, in which units."""

import dataclasses
from collections.abc import Collection
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Inexact

from edgewise.base.parameters import Box
from edgewise.base.ranges import Angle, Interval
from edgewise.geometry import AbstractFamily, Boundary
from edgewise.learn.networks import AbstractNetwork, unknowns
from edgewise.potentials import LayerPair
from edgewise.problem import Problem
from edgewise.quadrature import AbstractQuadrature, Graded, Kress
from edgewise.quadrature.rule import next_shared, sides
from edgewise.solving import linear

Values = dict[str, Array]


class System(NamedTuple):
    """The equation of one member for the network's unknowns, A u = b, and where the unknowns live."""

    matrix: Inexact[Array, "rows unknowns"]
    rhs: Inexact[Array, " rows"]
    nodes: Boundary
    parameters: Values

    def residual(self, network: AbstractNetwork) -> Inexact[Array, " rows"]:
        unknown = unknowns(network, self.nodes, self.parameters)
        # All digits, whatever those of the network: much cancels here.
        return jnp.matmul(self.matrix, unknown, precision="highest") - self.rhs


def rule_on(family: AbstractFamily, nodes: int) -> Kress | Graded:
    """The rule of a plane family: at least so many nodes on a curve, graded where there are corners."""
    count = sides(family)
    return Graded(next_shared(nodes, count)) if count else Kress(nodes)


def equation(problem: Problem, rule: AbstractQuadrature, parameters: Values, dtype: Any) -> System:
    """The equation on the rule's own nodes, as `solve` would have it."""
    member = problem.member(rule, parameters, dtype)
    matrix, rhs = member.representation.equation(member), member.representation.rhs(member)
    nodes = seen_nodes(member.boundary, rule)
    return System(matrix, rhs.astype(jnp.result_type(matrix, rhs)), nodes, parameters)


def seen_nodes(nodes: Boundary, rule: AbstractQuadrature) -> Boundary:
    """Nodes as a network sees them: graded ones by the rule's own coordinate, in which density times jacobian is smooth."""
    if not isinstance(rule, Graded):
        return nodes
    grid = rule.grid()[0] + 2 * np.pi * np.arange(nodes.components)[:, None]
    return dataclasses.replace(nodes, s=jnp.asarray(grid.reshape(-1), nodes.s.dtype))


def conditioned(problem: Problem, system: System) -> System:
    """The equation times the inverse of its symbol on circles, so that all frequencies count alike."""
    apply = conditioner(problem, system.nodes)
    matrix = jax.vmap(apply, in_axes=1, out_axes=1)(system.matrix)
    return system._replace(matrix=matrix, rhs=apply(system.rhs))


@eqx.filter_jit
def conditioned_systems(problem: Problem, rule: AbstractQuadrature, members: Values, count: int, dtype: Any) -> System:
    return jax.vmap(lambda p: conditioned(problem, equation(problem, rule, p, dtype)), axis_size=count)(members)


def conditioner(problem: Problem, nodes: Boundary) -> linear.Operator:
    """The inverse symbol of the equation on circles, for rows at these nodes."""
    return linear.circle_preconditioner(residual_orders(problem), nodes.s.shape[0], nodes.components)


def residual_orders(problem: Problem) -> tuple[int, ...]:
    """The order of each row of the equation, of a pair that of the double layer in it.

    A pair mixes orders: in u it has -3 and -2, in ∂u/∂n -2 and -1. By the larger of each row both densities are seen in
    the proportion in which they make the field.
    """
    if isinstance(problem.representation, LayerPair):
        return (-2, -1)
    return problem.representation.orders(problem.condition)


def row_names(problem: Problem) -> tuple[str, ...]:
    """What each channel of the residual asks for: the names of the losses."""
    if problem.condition.channels == 2:
        return ("value", "slope")
    return ("flux",) if problem.condition.takes_flux else ("value",)


def training_members(box: Box, count: int, dtype: Any, octaves: Collection[str] = ()) -> Values:
    """Members spread over the box, denser to its ends, where polynomials err most: Chebyshev nodes of one parameter.

    For several, the lattice of Roberts (powers of the root of x^(d+1) = x + 1) with the same density along each axis. Where
    parameters are seen by octaves, they are spread so.
    """
    axes = [(name, entry) for name, spec in box.specs for entry in range(max(1, int(np.prod(spec.shape))))]
    d = len(axes)
    if d == 1:
        lattice = (np.arange(count)[:, None] + 0.5) / count
    else:
        root = 2.0
        for _ in range(50):
            root = (1 + root) ** (1 / (d + 1))
        lattice = np.mod(0.5 + np.arange(1, count + 1)[:, None] * root ** -np.arange(1.0, d + 1), 1)
    values, column = {}, 0
    for name, spec in box.specs:
        width = max(1, int(np.prod(spec.shape)))
        part = lattice[:, column : column + width].reshape(count, *spec.shape)
        column += width
        if isinstance(spec, Interval):
            low, high = np.asarray(spec.low), np.asarray(spec.high)
            share = (1 - np.cos(np.pi * part)) / 2
            values[name] = low * (high / low) ** share if name in octaves else low + (high - low) * share
        elif isinstance(spec, Angle):
            values[name] = 2 * np.pi * part
        else:
            values[name] = np.asarray(spec.sample(jax.random.key(0), count))
    return {name: jnp.asarray(value, dtype) for name, value in values.items()}
