"""A network that turns with the plane: one function of the shape and the data as a point of the boundary sees them."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from edgewise.learn.frame import direction_angle
from edgewise.learn.inputs import Harmonics, Superposition
from edgewise.learn.networks import AbstractSpectral, Output
from edgewise.learn.turning import Column, TurningNumbers
from edgewise.learn.turning_terms import Terms, terms_of


class Equivariant(AbstractSpectral):
    """Σ w_tq T_t e^{i(κ_t + q)s}, and its reflection: polynomials T_t of the order κ_t, for data of the order q.

    A member and its data turned by σ have the density turned by σ, whatever the weights: T_t is then multiplied by e^{-iκσ} and the
    data by e^{-iqσ}. Reflected at the first axis T_t becomes its conjugate and q becomes -q, so that with one weight both are known,
    w (T e^{i(κ+q)s} ± T̄ e^{-i(κ+q)s}). Where the equation is real, so are the weights.
    """

    numbers: TurningNumbers
    sight: Harmonics
    output: Output
    amounts: Superposition
    weights: Float[Array, "blocks b 2 columns parts"]
    """Of terms and of their conjugates; real and imaginary parts, where there are both."""
    alone: tuple[Float[Array, "n parts"], ...]
    """Of each column those of the scalar beside the density, if there is one: it has the harmonic 0."""
    columns: tuple[Column, ...] = eqx.field(static=True)
    most: int = eqx.field(static=True)
    """How many terms there may be, and of what degree."""
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
        counts = [np.sum(self.terms.orders == column.order) for column in columns] if output.scalar_count else []
        self.alone = tuple(jnp.zeros((int(n) * self.terms.left.shape[1], parts), dtype) for n in counts)

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

        # Block by block: all products at once would be megabytes for every member of a batch.
        _, sums = jax.lax.scan(added, None, (jnp.asarray(terms.left), jnp.asarray(terms.right), self.weights))
        alone = [
            _sums((halves[0][terms.left[own]] * halves[1][terms.right[own]]).reshape(-1), weights)
            for own, weights in zip(self.of_scalars, self.alone, strict=True)
        ]
        there, back = self.spectra(sums, alone)
        phases = self._phases(parameters)
        found = phases[0] @ there + phases[1] @ back
        count = self.sight.count
        one, above, below = found[count], found[count + 1 : 2 * count + 1], found[:count][::-1]
        harmonics = jnp.concatenate([one[None], above + below, 1j * (above - below)])
        return self._parts(harmonics), self._parts(found[2 * count + 1 :]).reshape(-1)

    @property
    def of_scalars(self) -> list[np.ndarray]:
        """Of each column the blocks of terms that the scalar has: of data of the order q the conjugates of those of order q."""
        return [np.flatnonzero(self.terms.orders == column.order) for column in self.columns] if self.alone else []

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
        return jax.vmap(self.spectra)(sums(products, self.weights), alone)

    def spectra(
        self, sums: Float[Array, "blocks 2 2 columns parts"], alone: list[Float[Array, "2 parts"]]
    ) -> tuple[Complex[Array, "columns h"], Complex[Array, "columns h"]]:
        """The answers to each column and to its reflection: harmonics from the lowest on, then scalars.

        Arguments:
            sums: Of every block Σ w Re T and Σ w Im T, for the terms and for their conjugates.
            alone: The same of the scalar, for each column.
        """
        # Sums over the blocks of each order: a product with zeros and ones, since sums into places are slow.
        every = np.arange(int(np.max(self.terms.orders)) + 1)
        belongs = jnp.asarray(self.terms.orders == every[:, None], sums.dtype)
        by_order = _complex(jnp.tensordot(belongs, sums, 1))
        there, back = (jnp.zeros((), by_order.dtype) for _ in range(2))
        for conjugate, sign in ((0, 1), (1, -1)):
            real, imaginary = (self._placed(by_order[:, part, conjugate], sign) for part in (0, 1))
            there, back = there + real + sign * 1j * imaginary, back + (real - sign * 1j * imaginary)[:, ::-1]
        if alone:
            real, imaginary = jnp.moveaxis(_complex(jnp.stack(alone)), 1, 0)[..., None]
            there = jnp.concatenate([there, real - 1j * imaginary], axis=1)
            back = jnp.concatenate([back, real + 1j * imaginary], axis=1)
        return there, back

    def _placed(self, by_order: Complex[Array, "orders columns"], sign: int) -> Complex[Array, "columns h"]:
        """Of every order κ at its harmonic, κ + q, or q - κ of conjugates; of order 0 these are among the terms themselves."""
        count, orders = self.sight.count, np.array([column.order for column in self.columns])
        wanted = sign * (np.arange(-count, count + 1) - orders[:, None])
        least, none = (1 if sign < 0 else 0), len(by_order)
        # What is no order is the zero at the end.
        place = np.where((wanted >= least) & (wanted < none), wanted, none)
        filled = jnp.concatenate([by_order, jnp.zeros((1, len(orders)), by_order.dtype)])
        return filled[place, np.arange(len(orders))[:, None]]

    def _phases(self, parameters: Mapping[str, Any]) -> tuple[Complex[Array, " columns"], Complex[Array, " columns"]]:
        """What multiplies each column, and what its reflection."""
        amounts = self.amounts(parameters, self.weights.dtype)[np.array([column.number for column in self.columns])]
        odd = np.array([column.odd for column in self.columns])
        orders = np.array([column.order for column in self.columns])
        # Of order 0 both say the same.
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
    """Of one part it is the real one."""
    real = parts[..., 0]
    return jax.lax.complex(real, parts[..., 1] if parts.shape[-1] > 1 else jnp.zeros_like(real))
