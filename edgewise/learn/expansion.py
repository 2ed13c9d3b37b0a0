"""A network that is linear in all its weights: polynomials of the parameters times harmonics of the boundary."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from edgewise.learn.amounts import AbstractAmounts
from edgewise.learn.inputs import Harmonics, ParameterInputs
from edgewise.learn.networks import Output
from edgewise.learn.spectral import AbstractSpectral, in_pieces
from edgewise.learn.turning_terms import Terms, terms_of

# Numbers that a piece of many members may take before their columns are added up.
ROOM = 2**23


class Expansion(AbstractSpectral):
    """Σ_j g_j Σ_t T_t(parameters) Σ_m w_tjm φ_m(s), with the numbers g_j in which the answer is linear.

    For a plane wave these are the harmonics of its angle, so that no other direction is ever learned: what is left to
    learn is one equation with many right-hand sides, which all share its matrix.
    """

    inputs: ParameterInputs
    """The parameters that no multiplier is made of."""
    sight: Harmonics
    output: Output
    amounts: AbstractAmounts
    weights: Float[Array, "terms columns parts u"]
    """Harmonic coefficients channel by channel, then the scalars; complex ones as real and imaginary parts."""
    costs: tuple[float, ...] = eqx.field(static=True)
    """The cost of one degree of each number."""
    most: int = eqx.field(static=True)
    """The most polynomials, and their highest degree."""
    degree: int = eqx.field(static=True)

    def __init__(
        self,
        inputs: ParameterInputs,
        sight: Harmonics,
        output: Output,
        amounts: AbstractAmounts,
        *,
        costs: tuple[float, ...],
        most: int,
        degree: int,
        dtype: Any,
    ):
        self.inputs, self.sight, self.output, self.amounts = inputs, sight, output, amounts
        self.costs, self.most, self.degree = costs, most, degree
        parts = 2 if output.is_complex else 1
        terms, size = int(np.sum(self.terms.is_term)), (output.count * sight.size + output.scalar_count) // parts
        self.weights = jnp.zeros((terms, amounts.count, parts, size), dtype)

    @property
    def terms(self) -> Terms:
        return terms_of((), self.costs, self.most, self.degree, 0)

    def polynomials(self, parameters: Mapping[str, Any]) -> Float[Array, " terms"]:
        terms, dtype = self.terms, self.weights.dtype
        left, right = terms.products(jnp.zeros(0, dtype), self.inputs.vector(parameters).astype(dtype))
        return (left[terms.left[terms.is_term]] * right[terms.right[terms.is_term]]).astype(dtype)

    def encode(self, parameters: Mapping[str, Any]) -> tuple[Array, Array]:
        """Coefficients of the harmonics, and the scalars."""
        columns = self.polynomials(parameters) @ self.weights.reshape(len(self.weights), -1)
        found = jnp.tensordot(
            self.amounts(parameters, self.weights.dtype), columns.reshape(self.weights.shape[1:]), axes=1
        )
        harmonics, scalars = jnp.split(found, [self.output.channels * self.sight.size], axis=1)
        return harmonics.reshape(self.output.count, -1), scalars.reshape(-1)

    def encode_many(self, members: Mapping[str, Array], count: int) -> tuple[Array, Array]:
        size = max(1, ROOM // self.weights[0].size)
        return in_pieces(lambda piece, n: jax.vmap(self.encode, axis_size=n)(piece), members, count, size)

    def of_members(self, polynomials: Float[Array, "m terms"]) -> Array:
        """The answers of members to every column, shape (m, columns, u)."""
        found = (polynomials @ self.weights.reshape(len(self.weights), -1)).reshape(-1, *self.weights.shape[1:])
        return jax.lax.complex(found[:, :, 0], found[:, :, 1]) if self.output.is_complex else found[:, :, 0]
