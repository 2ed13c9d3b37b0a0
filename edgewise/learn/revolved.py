"""A network for waves on bodies of revolution: body and wave turned together turn the density."""

import functools
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float, Inexact

from edgewise.geometry import Boundary
from edgewise.learn.inputs import Fixed, ParameterInputs
from edgewise.learn.networks import AbstractNetwork, Output
from edgewise.special import gauss, real_harmonics

# Poles start this far below the real axis, in units of half the interval.
FIRST_DEPTH = 0.2


class Revolved(AbstractNetwork):
    """Σ W_mlij · cos m(α - α₀) Q_mi(ρ) · P_l^m(cos θ₀) · g_j(t): linear in all but the functions g.

    α and ρ are the angle about the axis and the coordinate along the generating line of a node; α₀ and θ₀ the direction
    of the wave. The answer is linear in the wave, and a wave is a sum of harmonics of its direction; of these, those of
    order m make densities of order m alone. The functions g of the other parameter are Chebyshev's polynomials and
    poles 1/(t - p_j) at places p_j below the real axis, which are learned: resonances, of which outgoing waves have
    theirs there.
    """

    inputs: ParameterInputs
    family: Fixed
    poles: Float[Array, "q 2"]
    """The real part, and the logarithm of minus the imaginary part; the parameter lies in [-1, 1]."""
    weights: tuple[Float[Array, "2 lines·F l j"], ...]
    """The weights for every order m; real and imaginary parts."""
    output: Output
    direction: str = eqx.field(static=True)
    degree: int = eqx.field(static=True)
    """The highest degree l of harmonics of the direction."""
    radial: int = eqx.field(static=True)
    """The number of functions of ρ on each line."""

    def __init__(
        self,
        inputs: ParameterInputs,
        family: Any,
        output: Output,
        *,
        direction: str,
        poles: int,
        order: int,
        degree: int,
        radial: int,
        dtype: Any,
    ):
        self.inputs, self.family, self.output = inputs, Fixed(family), output
        self.direction, self.degree, self.radial = direction, degree, radial
        places = np.linspace(-1, 1, poles + 2)[1:-1]
        self.poles = jnp.asarray(np.stack([places, np.full(poles, np.log(FIRST_DEPTH))], axis=-1), dtype)
        functions = len(inputs.terms) + poles
        self.weights = tuple(
            jnp.zeros((2, family.meridians * radial, degree + 1 - m, functions), dtype) for m in range(order + 1)
        )

    @property
    def order(self) -> int:
        """The highest order m about the axis."""
        return len(self.weights) - 1

    @property
    def is_shared(self) -> bool:
        return True

    def functions(self, parameters: Mapping[str, Any], poles: Array) -> Complex[Array, " j"]:
        """The functions g of the parameter: the polynomials, then the poles."""
        polynomials = self.inputs.polynomials(parameters)
        if not poles.shape[0]:
            return polynomials + 0j
        depth = jnp.exp(poles[:, 1])
        place = jax.lax.complex(self.inputs.vector(parameters)[0] - poles[:, 0], depth)
        return jnp.concatenate([polynomials + 0j, depth / place])

    def harmonics(self, direction: Float[Array, " 3"]) -> tuple[Float[Array, "p l"], ...]:
        """For every m the harmonics of the direction: with cos mα₀ and, for m > 0, with sin mα₀."""
        return by_order(real_harmonics(self.degree, direction), self.order)

    def encode(self, parameters: Mapping[str, Any]) -> Complex[Array, "o k"]:
        dtype = self.poles.dtype
        functions = self.functions({n: jnp.asarray(v, dtype) for n, v in parameters.items()}, self.poles)
        rows = []
        for weight, waves in zip(
            self.weights, self.harmonics(jnp.asarray(parameters[self.direction], dtype)), strict=True
        ):
            along = jax.lax.complex(*weight) @ functions
            rows.append(waves @ along.T)
        return jnp.concatenate(rows)

    def features(self, node: Boundary) -> Float[Array, "o k"]:
        family = self.family.value
        line, along, radius, angle = family.meridian(node.s)
        radial = _radial(self.radial, self.order, along, radius)
        own = (line == jnp.arange(family.meridians)).astype(radial.dtype)
        shapes = (own[:, None] * radial[:, None]).reshape(self.order + 1, -1)
        turns = [jnp.ones_like(angle)] + [f(m * angle) for m in range(1, self.order + 1) for f in (jnp.cos, jnp.sin)]
        return jnp.stack(turns)[:, None] * shapes[orders(self.order)]

    def decode(self, code: Complex[Array, "o k"], features: Float[Array, "o k"]) -> Inexact[Array, " channels"]:
        parts = jnp.stack([code.real.ravel(), code.imag.ravel()]) @ features.ravel()
        return jax.lax.complex(*parts)[None] * self.output.size.value[0]

    def scalars(self, code: Any) -> Inexact[Array, " p"]:
        return jnp.zeros(0, self.poles.dtype)


def orders(most: int) -> np.ndarray:
    """The order m of every row of a code: 0, 1, 1, 2, 2, ..."""
    return (np.arange(2 * most + 1) + 1) // 2


def by_order(harmonics: Float[Array, "... n"], most: int) -> tuple[Float[Array, "... p l"], ...]:
    """Harmonics in the order of `real_harmonics` as one block for every m: cosines and, for m > 0, sines; then l."""
    degree = round(harmonics.shape[-1] ** 0.5) - 1
    blocks = []
    for m in range(most + 1):
        own = np.arange(m, degree + 1)
        index = np.stack([own**2 + own + m, own**2 + own - m][: 1 + (m > 0)])
        blocks.append(harmonics[..., index])
    return tuple(blocks)


def _radial(count: int, order: int, along: Array, radius: Array) -> Float[Array, "m F"]:
    """radius^m times polynomials of the coordinate, for every m such that they are orthonormal over the unit disc."""
    z = 2 * along - 1
    values = [jnp.ones_like(z), z]
    for i in range(1, count - 1):
        values.append(((2 * i + 1) * z * values[-1] - i * values[-2]) / (i + 1))
    powers = jnp.cumprod(jnp.concatenate([jnp.ones(1, z.dtype), jnp.full(order, radius)]))
    table = jnp.asarray(_orthonormal(count, order), z.dtype)
    return powers[:, None] * jnp.einsum("i,mij->mj", jnp.stack(values[:count]), table)


@functools.cache
def _orthonormal(count: int, order: int) -> np.ndarray:
    """The matrices by which Legendre's polynomials become orthonormal, with radius² = 1 - (1 - ρ)³, as at edges."""
    x, w = gauss(count + order + 16)
    rho = (x + 1) / 2
    radius = np.sqrt(1 - (1 - rho) ** 3)
    area = np.sqrt(w / 2 * 1.5 * (1 - rho) ** 2)
    values = np.polynomial.legendre.legvander(x, count - 1) * area[:, None]
    return np.stack([np.linalg.inv(np.linalg.qr(values * radius[:, None] ** m)[1]) for m in range(order + 1)])
