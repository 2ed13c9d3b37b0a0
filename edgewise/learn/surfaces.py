"""Equations of surfaces for training: some rows of many members, at targets drawn at random."""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact, Int

from edgewise.learn.collocation import Values
from edgewise.potentials import Member
from edgewise.problem import Problem
from edgewise.quadrature import Duffy
from edgewise.quadrature.surfaces.sampled import OnSomeRows, sample
from edgewise.solving.systems import on_nodes, prepare
from edgewise.solving.validation import Settings

# Numbers that the rows of members worked on together may take, and how many members these may be.
BATCH_NUMBERS, TOGETHER = 2**25, 32


class Rows(NamedTuple):
    """Some rows of one member's equation, A u = b, the right-hand side of which is that of any data."""

    matrix: Inexact[Array, "m n"]
    member: Member
    """Without data; its discretisation knows which rows they are."""
    parameters: Values

    def rhs(self, problem: Problem, parameters: Values) -> Inexact[Array, " m"]:
        """For other values of the parameters that data alone depend on."""
        return self.member.representation.rhs(problem.with_data(self.member, parameters))

    @property
    def weight(self) -> Float[Array, " m"]:
        """The share of the boundary that each row stands for, 1 on the average over all nodes."""
        weight = self.member.at_rows(self.member.boundary.weight)
        return weight / jnp.mean(self.member.boundary.weight)


def draw_targets(
    rng: np.random.Generator,
    members: int,
    chances: Float[np.ndarray, " n"],
    count: int,
    order: Int[np.ndarray, " n"] | None = None,
) -> Int[np.ndarray, "b m"]:
    """Which nodes of each member, with these chances: evenly spread along an order of the nodes, from a start that
    differs from member to member as little as multiples of the golden ratio allow. Drawn one by one, they would leave
    gaps."""
    order = rng.permutation(len(chances)) if order is None else order
    # No node may be drawn twice.
    ends = np.cumsum(np.minimum(chances[order] * count / np.sum(chances), 1))
    starts = np.mod(rng.uniform() + np.arange(members) * (np.sqrt(5) - 1) / 2, 1)
    places = (starts[:, None] + np.arange(count)) * ends[-1] / count
    picked = np.minimum(np.searchsorted(ends, places, side="right"), len(order) - 1)
    return np.sort(order[picked], axis=-1)


def rows_of(problem: Problem, rule: Duffy, values: Values, targets: Int[np.ndarray, "b m"], dtype: Any) -> Rows:
    """The rows at `targets` of members along a first axis; some members at a time."""
    step = max(1, min(TOGETHER, BATCH_NUMBERS // (rule.nodes(problem.family) * targets.shape[1])))
    count = len(targets)
    pieces = []
    for first in range(0, count, step):
        # The last ones are filled up: what is compiled for so many members serves all.
        some = np.arange(first, first + step) % count
        part = {name: jnp.asarray(value)[some] for name, value in values.items()}
        pieces.append(_rows_of(problem, rule, part, targets[some], np.dtype(dtype)))
    return jax.tree_util.tree_map(lambda *leaves: jnp.concatenate(leaves)[:count], *pieces)


def _rows_of(problem: Problem, rule: Duffy, values: Values, targets: np.ndarray, dtype: np.dtype) -> Rows:
    count = len(targets)
    member = on_nodes(problem, rule, values, count, dtype)
    representation, condition = problem.representation, problem.condition
    boundary = member.boundary
    if representation.multiplies_layers(condition):
        settings = Settings("direct", 1.0, dtype, None)
        whole = [
            prepare(problem, rule, {n: v[i : i + 1] for n, v in values.items()}, 1, settings).matrix[0]
            for i in range(count)
        ]
        matrix = jnp.stack([m[t] for m, t in zip(whole, targets, strict=True)])
        bare = OnSomeRows(rule, boundary, jnp.asarray(targets), (), ())
        return Rows(matrix, dataclasses.replace(member, on=bare), values)
    layers, panels = representation.layers(condition), member.on.panels  # pyright: ignore[reportAttributeAccessIssue]
    known = sample(rule, member.representation.kernel, layers, boundary, panels, targets)
    matrix = _equations(dataclasses.replace(member, on=known))
    return Rows(matrix, dataclasses.replace(member, on=dataclasses.replace(known, rows=(), names=())), values)


@eqx.filter_jit
def _equations(member: Member) -> Inexact[Array, "b m n"]:
    return jax.vmap(lambda m: m.representation.equation(m))(member)
