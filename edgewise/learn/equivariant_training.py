"""Training of a network that turns with the plane, by the residual of the equation alone.

Harmonics along a boundary are orthogonal, and a term of the order κ has, for data of the order q, the harmonic κ + q
alone. So where the equation were that of a circle, terms of different orders would never meet, and the normal equations
would fall apart into small ones, one for each order: these precondition.
"""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np
from jaxtyping import Array, Complex, Float

from edgewise.geometry import Boundary
from edgewise.learn.collocation import Values, conditioner
from edgewise.learn.equivariant import Equivariant
from edgewise.learn.linear_training import AbstractLinearTraining, Seen, inverse_factor
from edgewise.learn.networks import split_trainable
from edgewise.learn.turned_data import turned_rhs
from edgewise.learn.turning import asked_once
from edgewise.learn.turning_terms import Terms

# Low orders have more terms than high ones: in so many sets, each with the room of its largest.
BUCKETS = 3


class EquivariantTraining(AbstractLinearTraining):
    """The columns are data that a rotation multiplies by a phase, followed by their reflections for complex equations.

    Products are kept as blocks x 2m x b: real parts of all m members, then imaginary ones.
    """

    @property
    def alone(self) -> tuple[str, ...]:
        return asked_once(self.problem)

    def equations(self, seen: Seen, weights: Array) -> Complex[Array, "m h c"]:
        there, back = self._with(weights).of_members(seen.products)
        answers = jnp.concatenate([there, back], axis=1) if self.shape.is_complex else there
        return seen.matrix @ jnp.swapaxes(answers, 1, 2)

    def _with(self, weights: Array) -> Equivariant:
        network: Any = self.network(weights)
        return network

    def joined(self, pieces: list[tuple[Array, Array, Array]]) -> Seen:
        products, matrix, rhs = zip(*pieces, strict=True)
        flat = jnp.concatenate(products, axis=2).reshape(len(products[0]), -1, products[0].shape[-1])
        return Seen(flat, jnp.concatenate(matrix), jnp.concatenate(rhs))

    def look(self, members: Values) -> tuple[Float[Array, "blocks 2 m b"], Array, Array]:
        network = self._with(self.first_weights)
        terms = network.terms
        numbers, odd, orders = (np.array(part) for part in zip(*network.columns, strict=True))
        turns = 2 * int(np.max(orders)) + 2

        def one(parameters):
            member = self.problem.member(self.rule, parameters, self.dtype, data=False)
            condition = jax.vmap(conditioner(self.problem, member.boundary), 1, 1)
            matrix = self.between_harmonics(condition(member.representation.equation(member)), member.boundary)
            rhs = turned_rhs(self.problem, member, parameters, turns)
            # Reflected data have the order -q, and odd ones change their sign.
            there, back = (
                rhs[numbers, odd.astype(int), sign * orders].T * jnp.where(odd, -sign * 1j, 1).astype(rhs.dtype)
                for sign in (1, -1)
            )
            asked = jnp.concatenate([there, back], axis=1) if self.shape.is_complex else there
            left, right = terms.products(*network.numbers(parameters, self.dtype))
            products = jnp.where(terms.is_term, left[terms.left] * right[terms.right], 0)
            return products, self.inverse @ matrix, self.inverse @ self._harmonics(condition(asked))

        products, matrix, rhs = jax.vmap(one, out_axes=(1, 0, 0))(members)
        return jnp.stack([products.real, products.imag], axis=1), matrix, rhs

    def between_harmonics(self, matrix: Array, nodes: Boundary) -> Complex[Array, "h h"]:
        s, count = self._waves
        scalars = self.shape.scalars
        waves = jnp.exp(1j * s[:, None] * np.arange(-count, count + 1)) * self.sizes[0]
        unknowns = jax.scipy.linalg.block_diag(waves, jnp.diag(self.sizes[1:]).astype(waves.dtype))
        return self._harmonics(matrix @ (unknowns if scalars else waves).astype(jnp.result_type(matrix, jnp.complex64)))

    def _harmonics(self, rows: Array) -> Complex[Array, "h c"]:
        """Rows at nodes become rows of harmonics; rows of scalars stay as they are."""
        s, count = self._waves
        waves = jnp.exp(-1j * np.arange(-count, count + 1)[:, None] * s) / len(s)
        rows = rows.astype(jnp.result_type(rows, jnp.complex64))
        return jnp.concatenate([waves.astype(rows.dtype) @ rows[: len(s)], rows[len(s) :]])

    @property
    def _waves(self) -> tuple[Float[Array, " n"], int]:
        nodes = self.recipe.collocation.nodes
        return jnp.asarray(2 * np.pi * np.arange(nodes) / nodes, self.dtype), self.recipe.network.harmonics

    @functools.cached_property
    def factors(self) -> list[Array]:
        """For each order in each bucket, the inverse of the factor L of the normal equations LLᵀ of its terms."""
        return eqx.filter_jit(self._factorised)(self.seen.products)

    def _factorised(self, products: Float[Array, "blocks 2m b"]) -> list[Array]:
        def one(blocks):
            own = products[blocks] * (blocks >= 0)[:, None, None]
            design = jnp.moveaxis(own, 0, 1).reshape(own.shape[1], -1)
            gram = design.T @ design
            # Where a group or a block is filled up there is nothing; its weights stay zero.
            return inverse_factor(gram, jnp.diag(gram) == 0)

        return [jax.lax.map(one, jnp.asarray(groups)) for groups in _buckets(self._with(self.first_weights).terms)]

    def preconditioned(self, factors: list[Array], slope: Array) -> Array:
        network = self._with(slope)
        terms, (blocks, size) = network.terms, network.weights.shape[:2]
        # A term's weights are solved for at once: columns, conjugates, parts, and scalars of columns of its order.
        asked = [network.weights.reshape(blocks, size, -1)]
        for own, weights in zip(network.of_scalars, network.alone, strict=True):
            nothing = jnp.zeros((blocks, size, weights.shape[-1]), slope.dtype)
            asked.append(nothing.at[own].set(weights.reshape(len(own), size, -1)))
        given = jnp.concatenate(asked, axis=-1)
        found = jnp.zeros_like(given)
        for groups, factor in zip(_buckets(terms), factors, strict=True):
            own = given[groups].reshape(len(groups), -1, given.shape[-1])
            solved = (jnp.swapaxes(factor, 1, 2) @ (factor @ own)).reshape(groups.size, size, -1)
            blocks = groups.reshape(-1)
            found = found.at[blocks[blocks >= 0]].set(solved[blocks >= 0])
        shares = jnp.split(found, np.cumsum([part.shape[-1] for part in asked])[:-1], axis=-1)
        alone = (
            share[own].reshape(weights.shape)
            for share, own, weights in zip(shares[1:], network.of_scalars, network.alone, strict=True)
        )
        filled = eqx.tree_at(
            lambda n: (n.weights, n.alone), network, (shares[0].reshape(network.weights.shape), tuple(alone))
        )
        return jax.flatten_util.ravel_pytree(split_trainable(filled)[0])[0]


def _buckets(terms: Terms) -> list[np.ndarray]:
    """Buckets of orders: each row lists the blocks of one order, filled up by -1."""
    sets = [orders for orders in np.array_split(np.unique(terms.orders), BUCKETS) if orders.size]
    return [_groups(terms, orders) for orders in sets]


def _groups(terms: Terms, orders: np.ndarray) -> np.ndarray:
    own = [np.flatnonzero(terms.orders == order) for order in orders]
    most = max(len(blocks) for blocks in own)
    return np.stack([np.pad(blocks, (0, most - len(blocks)), constant_values=-1) for blocks in own])
