"""Training of polynomials times harmonics, by the residual of the equation alone."""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.scipy.linalg
from jaxtyping import Array, Float, Inexact

from edgewise.geometry import Boundary
from edgewise.learn.collocation import Values, conditioner
from edgewise.learn.expansion import Expansion
from edgewise.learn.inputs import Harmonics
from edgewise.learn.linear_training import AbstractLinearTraining, Seen, inverse_factor


class ExpansionTraining(AbstractLinearTraining):
    """Columns are the numbers in which the answer is linear. One matrix of a member serves all of them.

    The polynomials, made orthogonal on the members, precondition: where all equations were alike, one step would do.
    """

    @property
    def alone(self) -> tuple[str, ...]:
        return self._with(self.first_weights).amounts.names

    def _with(self, weights: Array) -> Expansion:
        network: Any = self.network(weights)
        return network

    def equations(self, seen: Seen, weights: Array) -> Inexact[Array, "m h c"]:
        return seen.matrix @ jnp.swapaxes(self._with(weights).of_members(seen.products), 1, 2)

    def look(self, members: Values) -> tuple[Float[Array, "m terms"], Array, Array]:
        network = self._with(self.first_weights)
        settings, shares = network.amounts.settings(self.problem.parameters, self.dtype)

        def one(parameters):
            member = self.problem.member(self.rule, parameters, self.dtype, data=False)
            condition = jax.vmap(conditioner(self.problem, member.boundary), 1, 1)
            nodes = self.rule.seen(member.boundary)
            matrix = self.between_harmonics(condition(member.representation.equation(member)), nodes)

            def asked(setting):
                given = self.problem.with_data(member, {**parameters, **setting})
                return given.representation.rhs(given)

            rhs = jax.vmap(asked, out_axes=1, axis_size=len(shares))(settings)
            columns = condition((rhs @ jnp.asarray(shares, self.dtype)).astype(jnp.result_type(matrix, rhs)))
            return (
                network.polynomials(parameters),
                self.inverse @ matrix,
                self.inverse @ self._harmonics(columns, nodes),
            )

        return jax.vmap(one)(members)

    def joined(self, pieces: list[tuple[Array, Array, Array]]) -> Seen:
        return Seen(*(jnp.concatenate(part) for part in zip(*pieces, strict=True)))

    def between_harmonics(self, matrix: Array, nodes: Boundary) -> Inexact[Array, "h h"]:
        waves, channels = self._waves(nodes), self.shape.channels
        unknowns = [waves * size for size in self.sizes[:channels]]
        if self.shape.scalars:
            unknowns.append(jnp.diag(self.sizes[channels:]))
        return self._harmonics(matrix @ jax.scipy.linalg.block_diag(*unknowns).astype(matrix.dtype), nodes)

    def _harmonics(self, rows: Array, nodes: Boundary) -> Inexact[Array, "h c"]:
        """Rows at nodes become the coefficients of their harmonics, channel by channel; rows of scalars stay."""
        waves = self._waves(nodes)
        transform = (waves / jnp.sum(waves**2, axis=0)).T.astype(rows.dtype)
        count = len(waves)
        by_channel = [transform @ rows[i * count : (i + 1) * count] for i in range(self.shape.channels)]
        return jnp.concatenate([*by_channel, rows[self.shape.channels * count :]])

    def _waves(self, nodes: Boundary) -> Float[Array, "n f"]:
        sight = Harmonics(self.recipe.network.harmonics, len(self.problem.family.curves))
        return jax.vmap(sight)(nodes).astype(self.dtype)

    @functools.cached_property
    def factors(self) -> Float[Array, "terms terms"]:
        """The inverse of the factor L of the normal equations LLᵀ of the polynomials."""
        return eqx.filter_jit(lambda polynomials: inverse_factor(polynomials.T @ polynomials))(self.seen.products)

    def preconditioned(self, factors: Float[Array, "terms terms"], slope: Array) -> Array:
        return (factors.T @ (factors @ slope.reshape(len(factors), -1))).reshape(-1)
