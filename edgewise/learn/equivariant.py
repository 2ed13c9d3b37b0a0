"""A network that turns with the plane: one function of the shape and the data as a point of the boundary sees them."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from edgewise.learn.amounts import Superposition, direction_angle
from edgewise.learn.inputs import Harmonics
from edgewise.learn.networks import Output
from edgewise.learn.spectral import AbstractSpectral, in_pieces
from edgewise.learn.turned_data import Column
from edgewise.learn.turning import TurningNumbers
from edgewise.learn.turning_terms import Terms, terms_of

# Members that are encoded at a time, and blocks of terms that are added up at a turn, at most. On a CPU so few that
# their products stay in the cache of one core and no product is split between threads, which would wait for each other
# hundreds of times. A GPU has work for all its cores with many, and a turn of a loop costs it more than the arithmetic
# of one block: all blocks that a gigabyte holds the products of.
PIECE, TURN = 64, 1
PIECE_ELSEWHERE, TURN_ELSEWHERE = 2048, 512


class Equivariant(AbstractSpectral):
    """Σ w_tq T_t e^{i(κ_t + q)s}, and its reflection: polynomials T_t of the order κ_t, for data of the order q.

    A member and its data turned by σ have the density turned by σ, whatever the weights: T_t is then multiplied by
    e^{-iκσ} and the data by e^{-iqσ}. Reflected at the first axis T_t becomes its conjugate and q becomes -q, so that
    with one weight both are known, w (T e^{i(κ+q)s} ± T̄ e^{-i(κ+q)s}). Where the equation is real, so are the weights.
    """

    numbers: TurningNumbers
    sight: Harmonics
    output: Output
    amounts: Superposition
    weights: Float[Array, "blocks b 2 columns parts"]
    """Real and, for complex answers, imaginary parts, for the terms and for their conjugates."""
    alone: tuple[Float[Array, "n parts"], ...]
    """For each column the weights of the scalar beside the density, if there is one: it has harmonic 0."""
    columns: tuple[Column, ...] = eqx.field(static=True)
    most: int = eqx.field(static=True)
    """The most terms, and their highest degree."""
    degree: int = eqx.field(static=True)
    direction: str | None = eqx.field(static=True)
    """The parameter that is the direction of a plane wave."""

    def __init__(
        self,
        numbers: TurningNumbers,
        columns: tuple[Column, ...],
        sight: Harmonics,
        output: Output,
        amounts: Superposition,
        *,
        most: int,
        degree: int,
        direction: str | None,
        dtype: Any,
    ):
        self.numbers, self.sight, self.output, self.amounts = numbers, sight, output, amounts
        self.columns, self.most, self.degree, self.direction = columns, most, degree, direction
        parts = 2 if output.is_complex else 1
        self.weights = jnp.zeros((*self.terms.left.shape, 2, len(columns), parts), dtype)
        self.alone = tuple(jnp.zeros((self.terms.left[own].size, parts), dtype) for own in self.of_scalars)

    @property
    def terms(self) -> Terms:
        return terms_of(self.numbers.orders, self.numbers.costs, self.most, self.degree, self.sight.count)

    def encode(self, parameters: Mapping[str, Any]) -> tuple[Array, Array]:
        """Coefficients of the harmonics, and the scalars."""
        terms = self.terms
        halves = terms.products(*self.numbers(parameters, self.weights.dtype))

        def added(_, block):
            i, j, weights = block
            return None, _sums(halves[0][i] * halves[1][j], weights)

        # Block by block: all products at once would be megabytes.
        _, sums = jax.lax.scan(added, None, (jnp.asarray(terms.left), jnp.asarray(terms.right), self.weights))
        alone = [
            _sums((halves[0][terms.left[own]] * halves[1][terms.right[own]]).reshape(-1), weights)
            for own, weights in zip(self.of_scalars, self.alone, strict=True)
        ]
        return self._code(self._by_order(sums), alone, parameters)

    def encode_many(self, members: Mapping[str, Array], count: int) -> tuple[Array, Array]:
        size, turn = (PIECE, TURN) if jax.default_backend() == "cpu" else (PIECE_ELSEWHERE, TURN_ELSEWHERE)
        turn = min(turn, len(self.weights))
        return in_pieces(lambda piece, n: self._piece(piece, n, turn), members, count, size)

    def _piece(self, members: Mapping[str, Array], count: int, turn: int) -> tuple[Array, Array]:
        """`encode` of many members, which are the last axis until all terms are added up: each term is read in one row.

        That takes half the time for many members, and more for one.

        Arguments:
            turn: So many blocks are added up side by side.
        """
        terms, dtype = self.terms, self.weights.dtype
        halves = jax.vmap(lambda p: terms.products(*self.numbers(p, dtype)), out_axes=1, axis_size=count)(members)
        # Real and imaginary parts apart, which processors multiply faster than pairs of them.
        parts = [(jnp.real(half), jnp.imag(half)) for half in halves]

        def added(i, j, weights):
            """Σ w Re T of all members, then Σ w Im T."""
            (a, b), (c, d) = ([part[rows] for part in half] for half, rows in zip(parts, (i, j), strict=True))
            return weights @ jnp.concatenate([a * c - b * d, a * d + b * c], axis=-1)

        def members_first(found, shape):
            return jnp.moveaxis(found.reshape(*found.shape[:-2], *shape, 2, count), (-1, -2), (0, -1 - len(shape)))

        weights = jnp.swapaxes(self.weights.reshape(*terms.left.shape, -1), 1, 2)
        # The last turn is filled up with blocks that have no weight.
        missing = -len(weights) % turn
        blocks = (
            jnp.pad(part, ((0, missing), (0, 0), (0, 0))[: part.ndim]).reshape(-1, turn, *part.shape[1:])
            for part in (jnp.asarray(terms.left), jnp.asarray(terms.right), weights)
        )
        _, sums = jax.lax.scan(lambda _, some: (None, added(*some)), None, tuple(blocks))
        sums = sums.reshape(-1, *sums.shape[2:])[: len(weights)]
        by_order = members_first(self._by_order(sums), self.weights.shape[2:])
        alone = [
            members_first(added(terms.left[own].reshape(-1), terms.right[own].reshape(-1), part.T), part.shape[1:])
            for own, part in zip(self.of_scalars, self.alone, strict=True)
        ]
        return jax.vmap(self._code, axis_size=count)(by_order, alone, members)

    def _code(self, by_order: Array, alone: list[Array], parameters: Mapping[str, Any]) -> tuple[Array, Array]:
        """The coefficients of one member from the sums of its terms."""
        there, back = self.spectra(by_order, alone)
        phases = self._phases(parameters)
        found = phases[0] @ there + phases[1] @ back
        count = self.sight.count
        one, above, below = found[count], found[count + 1 : 2 * count + 1], found[:count][::-1]
        harmonics = jnp.concatenate([one[None], above + below, 1j * (above - below)])
        return self._parts(harmonics), self._parts(found[2 * count + 1 :]).reshape(-1)

    @property
    def of_scalars(self) -> list[np.ndarray]:
        """For each data column, the blocks that add to its scalar: those of the column's order q, conjugated."""
        columns = self.columns if self.output.scalar_count else ()
        return [np.flatnonzero(self.terms.orders == column.order) for column in columns]

    def of_members(
        self, products: Float[Array, "blocks 2m b"]
    ) -> tuple[Complex[Array, "m columns h"], Complex[Array, "m columns h"]]:
        """The spectra of members whose products of terms are known: real parts of all, then imaginary ones."""

        def sums(products, weights):
            # As products of two matrices for each block, which is six times as fast as other orders of the axes.
            found = products @ weights.reshape(*weights.shape[:2], -1)
            return jnp.moveaxis(found.reshape(len(found), 2, -1, *weights.shape[2:]), 2, 0)

        alone = [
            jnp.sum(sums(products[own], weights.reshape(len(own), -1, weights.shape[-1])), axis=1)
            for own, weights in zip(self.of_scalars, self.alone, strict=True)
        ]
        by_order = jax.vmap(self._by_order)(sums(products, self.weights))
        return jax.vmap(self.spectra)(by_order, alone)

    def _by_order(self, sums: Float[Array, "blocks ..."]) -> Float[Array, "orders ..."]:
        """Sums over the blocks of each order: a product with zeros and ones, since sums into places are slow."""
        every = np.arange(int(np.max(self.terms.orders)) + 1)
        return jnp.tensordot(jnp.asarray(self.terms.orders == every[:, None], sums.dtype), sums, 1)

    def spectra(
        self, by_order: Float[Array, "orders 2 2 columns parts"], alone: list[Float[Array, "2 parts"]]
    ) -> tuple[Complex[Array, "columns h"], Complex[Array, "columns h"]]:
        """The answers to each column and to its reflection: harmonics from the lowest on, then scalars.

        Arguments:
            by_order: Of every order Σ w Re T and Σ w Im T, for the terms and for their conjugates.
            alone: The same of the scalar, for each column.
        """
        found = _complex(by_order)
        there, back = (jnp.zeros((), found.dtype) for _ in range(2))
        for conjugate, sign in ((0, 1), (1, -1)):
            real, imaginary = (self._placed(found[:, part, conjugate], sign) for part in (0, 1))
            there, back = there + real + sign * 1j * imaginary, back + (real - sign * 1j * imaginary)[:, ::-1]
        if alone:
            real, imaginary = jnp.moveaxis(_complex(jnp.stack(alone)), 1, 0)[..., None]
            there = jnp.concatenate([there, real - 1j * imaginary], axis=1)
            back = jnp.concatenate([back, real + 1j * imaginary], axis=1)
        return there, back

    def _placed(self, by_order: Complex[Array, "orders columns"], sign: int) -> Complex[Array, "columns h"]:
        """Moves the sum of order κ to harmonic κ + q, of conjugates to q - κ; order 0 is its own conjugate."""
        count, orders = self.sight.count, np.array([column.order for column in self.columns])
        wanted = sign * (np.arange(-count, count + 1) - orders[:, None])
        least, none = (1 if sign < 0 else 0), len(by_order)
        # What is no order is the zero at the end.
        place = np.where((wanted >= least) & (wanted < none), wanted, none)
        filled = jnp.concatenate([by_order, jnp.zeros((1, len(orders)), by_order.dtype)])
        return filled[place, np.arange(len(orders))[:, None]]

    def _phases(self, parameters: Mapping[str, Any]) -> tuple[Complex[Array, " columns"], Complex[Array, " columns"]]:
        """The factors of each column and of its reflection."""
        amounts = self.amounts(parameters, self.weights.dtype)[np.array([column.number for column in self.columns])]
        odd = np.array([column.odd for column in self.columns])
        orders = np.array([column.order for column in self.columns])
        # At order 0 both are the same, and each counts half.
        unit = np.where(odd, 1j, 1) * np.where(orders > 0, 1, 0.5)
        phase = jnp.ones(len(orders)) if self.direction is None else jnp.exp(-1j * orders * self._angle(parameters))
        kind = jnp.result_type(self.weights.dtype, jnp.complex64)
        there, back = amounts * unit * phase, amounts * np.where(odd, -unit, unit) * phase.conj()
        return there.astype(kind), back.astype(kind)

    def _angle(self, parameters: Mapping[str, Any]) -> Float[Array, ""]:
        assert self.direction is not None
        return direction_angle(parameters[self.direction])

    def _parts(self, values: Complex[Array, " n"]) -> Float[Array, "outputs n"]:
        return jnp.stack([values.real, values.imag]) if self.output.is_complex else values.real[None]


def _sums(products: Complex[Array, " b"], weights: Float[Array, "b ... parts"]) -> Float[Array, "2 ... parts"]:
    """Σ w Re T and Σ w Im T."""
    flat = weights.reshape(len(weights), -1)
    return jnp.stack([products.real @ flat, products.imag @ flat]).reshape(2, *weights.shape[1:])


def _complex(parts: Float[Array, "... parts"]) -> Complex[Array, "..."]:
    """The real part, where there is one part only."""
    real = parts[..., 0]
    return jax.lax.complex(real, parts[..., 1] if parts.shape[-1] > 1 else jnp.zeros_like(real))
