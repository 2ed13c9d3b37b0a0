"""The equation of many members as one residual of the network: which members, which nodes, in which units."""

from collections.abc import Collection
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Inexact

from edgewise.base.parameters import Box
from edgewise.geometry import Boundary
from edgewise.learn.networks import AbstractNetwork, unknowns
from edgewise.problem import Problem
from edgewise.quadrature import AbstractQuadrature, Preconditioner
from edgewise.quadrature.curves.circle import circle_preconditioner

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


def equation(problem: Problem, rule: AbstractQuadrature, parameters: Values, dtype: Any) -> System:
    """The equation on the rule's own nodes, as `solve` would have it."""
    member = problem.member(rule, parameters, dtype)
    matrix, rhs = member.representation.equation(member), member.representation.rhs(member)
    nodes = rule.seen(member.boundary)
    return System(matrix, rhs.astype(jnp.result_type(matrix, rhs)), nodes, parameters)


def conditioned(problem: Problem, system: System) -> System:
    """The equation times the inverse of its symbol on circles, so that the residual weighs all frequencies alike."""
    apply = conditioner(problem, system.nodes)
    matrix = jax.vmap(apply, in_axes=1, out_axes=1)(system.matrix)
    return system._replace(matrix=matrix, rhs=apply(system.rhs))


@eqx.filter_jit
def conditioned_systems(problem: Problem, rule: AbstractQuadrature, members: Values, count: int, dtype: Any) -> System:
    return jax.vmap(lambda p: conditioned(problem, equation(problem, rule, p, dtype)), axis_size=count)(members)


def conditioner(problem: Problem, nodes: Boundary) -> Preconditioner:
    """The inverse symbol of the equation on circles, for rows at these nodes."""
    return circle_preconditioner(residual_orders(problem), nodes.s.shape[0], nodes.components)


def residual_orders(problem: Problem) -> tuple[int, ...]:
    """The order of each row of the equation; of a `LayerPair` that of its double layer.

    A pair mixes orders: in u it has -3 and -2, in ∂u/∂n -2 and -1. By the larger of each row both densities are seen in
    the proportion in which they make the field.
    """
    if problem.condition.channels == 2:
        return (-2, -1)
    return problem.representation.orders(problem.condition)


def row_names(problem: Problem) -> tuple[str, ...]:
    """The names of the losses: what each channel of the residual prescribes."""
    if problem.condition.channels == 2:
        return ("value", "slope")
    return ("flux",) if problem.condition.takes_flux else ("value",)


def training_members(box: Box, count: int, dtype: Any, octaves: Collection[str] = ()) -> Values:
    """Members spread over the box, denser to its ends, where polynomials err most: Chebyshev nodes of one parameter.

    Several parameters take the lattice of Roberts (powers of the root of x^(d+1) = x + 1) with the same density along
    each axis. Parameters in `octaves` are spread so by their logarithm.
    """
    d = sum(spec.axes for _, spec in box.specs)
    if d == 1:
        lattice = (np.arange(count)[:, None] + 0.5) / count
    else:
        root = 2.0
        for _ in range(50):
            root = (1 + root) ** (1 / (d + 1))
        lattice = np.mod(0.5 + np.arange(1, count + 1)[:, None] * root ** -np.arange(1.0, d + 1), 1)
    values, column = {}, 0
    for name, spec in box.specs:
        values[name] = jnp.asarray(spec.spread(lattice[:, column : column + spec.axes], name in octaves), dtype)
        column += spec.axes
    return values
