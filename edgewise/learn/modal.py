"""A network for many parameters: from the member to the harmonics of its density."""

import itertools
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np
from jaxtyping import Array, Float, Inexact, PRNGKeyArray

from edgewise.geometry import Boundary
from edgewise.learn.amounts import Superposition
from edgewise.learn.frame import WaveFrame, turned
from edgewise.learn.inputs import Fixed, Harmonics, ParameterInputs
from edgewise.learn.networks import ACTIVATIONS, Output
from edgewise.learn.spectral import AbstractSpectral
from edgewise.learn.wrapped import trace_of

# The size of the last layer's first weights, relative to those that keep the size of what passes through.
START = 0.1


class Modal(AbstractSpectral):
    """Σ_j g_j Σ_m c_jm(parameters) φ_m(s): a perceptron gives the coefficients of the harmonics φ_m.

    It works once for a member, not once for a node. The numbers g in which the answer is linear multiply, so that it is
    linear in them whatever the weights. For a plane wave the sum is multiplied by its phase; where its direction is a
    parameter, the perceptron sees the body in the wave's frame, and the harmonics are of s - α.
    """

    inputs: ParameterInputs | WaveFrame
    """The parameters that no multiplier is made of."""
    sight: Harmonics
    weights: tuple[Float[Array, "..."], ...]
    biases: tuple[Float[Array, "..."], ...]
    output: Output
    amounts: Superposition
    wave: Fixed | None
    """The problem's representation and plane wave, where there is one."""
    activation: str = eqx.field(static=True)

    def __init__(
        self,
        inputs: ParameterInputs | WaveFrame,
        sight: Harmonics,
        output: Output,
        amounts: Superposition,
        *,
        wave: Fixed | None,
        layers: int,
        neurons: int,
        activation: str,
        dtype: Any,
        key: PRNGKeyArray,
    ):
        self.inputs, self.sight, self.output = inputs, sight, output
        self.amounts, self.wave, self.activation = amounts, wave, activation
        sizes = list(itertools.pairwise([inputs.size, *(neurons,) * layers, amounts.count * self.count]))
        keys = jax.random.split(key, len(sizes))
        self.weights = tuple(
            jax.random.normal(k, (fan_out, fan_in), dtype) * (1.0 if i < layers else START) / np.sqrt(fan_in)
            for i, (k, (fan_in, fan_out)) in enumerate(zip(keys, sizes, strict=True))
        )
        self.biases = tuple(jnp.zeros(fan_out, dtype) for _, fan_out in sizes)

    @property
    def count(self) -> int:
        """The number of real numbers of one answer: the density and the scalars of a member."""
        return self.output.count * self.sight.size + self.output.scalar_count

    def coefficients(
        self, parameters: Mapping[str, Any], shifts: tuple[Array, ...] | None = None
    ) -> tuple[Float[Array, "g count"], tuple[Array, ...]]:
        """The real coefficients of one member's answers, and each layer's inputs; `shifts` are added to each layer's
        outputs."""
        dtype = self.biases[0].dtype
        x = self.inputs.vector(parameters).astype(dtype)
        seen = []
        last = len(self.weights) - 1
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            seen.append(x)
            x = weight @ x + bias + (0 if shifts is None else shifts[i])
            x = x if i == last else ACTIVATIONS[self.activation](x)
        return x.reshape(self.amounts.count, -1), tuple(seen)

    def encode(self, parameters: Mapping[str, Any]) -> tuple[Array, Array]:
        """Coefficients and scalars."""
        numbers = self.amounts(parameters, self.biases[0].dtype) @ self.coefficients(parameters)[0]
        split = self.output.count * self.sight.size
        return self._turned(numbers[:split].reshape(self.output.count, -1), parameters, back=True), numbers[split:]

    def factor(self, nodes: Boundary, parameters: Mapping[str, Any]) -> Inexact[Array, " n"] | None:
        return None if self.wave is None else trace_of(self.wave, nodes, parameters)

    def basis(self, nodes: Boundary, parameters: Mapping[str, Any]) -> Inexact[Array, "unknowns count"]:
        """The matrix from the network's real coefficients to the unknowns of the equation, channel by channel, then
        scalars."""
        harmonics = self._turned(jax.vmap(self.features)(nodes).astype(self.biases[0].dtype), parameters)
        factor = self.factor(nodes, parameters)
        harmonics = harmonics if factor is None else harmonics * factor[:, None]
        channels, sizes = self.output.channels, self.output.size.value
        units = jnp.asarray([1, 1j] if self.output.is_complex else [1])
        layers = jnp.einsum("cd,u,nm->cnudm", jnp.diag(sizes[:channels]), units, harmonics)
        alone = jnp.einsum("st,u->sut", jnp.diag(sizes[channels:]), units)
        layers = layers.reshape(channels * len(harmonics), -1)
        alone = alone.reshape(len(alone), self.output.scalar_count)
        return jax.scipy.linalg.block_diag(layers, alone)

    def _turned(
        self, harmonics: Inexact[Array, "n f"], parameters: Mapping[str, Any], back: bool = False
    ) -> Inexact[Array, "n f"]:
        """Harmonics, or their coefficients, of the coordinate that starts in the direction of the wave."""
        if not isinstance(self.inputs, WaveFrame):
            return harmonics
        by_curve = harmonics.reshape(len(harmonics), self.sight.curves, -1)
        return turned(by_curve, self.inputs.shifts(parameters), back).reshape(harmonics.shape)
