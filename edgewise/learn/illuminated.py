"""A network for waves on bodies of any shape: the incident phase times a function of how the node is lit."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Inexact, PRNGKeyArray

from edgewise.base.named import bind
from edgewise.geometry import Boundary
from edgewise.learn.inputs import Fixed, ParameterInputs
from edgewise.learn.networks import AbstractNetwork, Output, Perceptron
from edgewise.problem import Problem

# Position, normal, and the two products with the direction of the wave.
SEEN = 8


class Illuminated(AbstractNetwork):
    """e^{ik d·x} · F(parameters, x, n, k d·x, d·n) for a plane wave of direction d: fast waves are known, what is left
    is slow.

    F is a perceptron. Where a wave lights a large smooth body the density is nearly the wave's own trace times a number
    that depends on d·n; what the perceptron learns is how it differs from that.
    """

    inputs: ParameterInputs
    wave: Fixed
    """The problem's kernel and incident wave, with numbers or parameters' names in them."""
    perceptron: Perceptron
    output: Output

    def __init__(
        self,
        inputs: ParameterInputs,
        problem: Problem,
        output: Output,
        *,
        layers: int,
        neurons: int,
        activation: str,
        dtype: Any,
        key: PRNGKeyArray,
    ):
        self.inputs, self.output = inputs, output
        self.wave = Fixed((problem.representation.kernel, problem.data))
        self.perceptron = Perceptron((inputs.size + SEEN, *(neurons,) * layers, output.count), activation, dtype, key)

    @property
    def is_shared(self) -> bool:
        return False

    def encode(self, parameters: Mapping[str, Any]) -> tuple[Array, Array, Array]:
        """The inputs: the parameters, the wavenumber and the direction."""
        dtype = self.perceptron.weights[0].dtype
        kernel, wave = bind(self.wave.value, parameters)
        vector = self.inputs.vector(parameters).astype(dtype)
        return vector, jnp.asarray(kernel.wavenumber, dtype), jnp.asarray(wave.direction, dtype)

    def features(self, node: Boundary) -> tuple[Array, Array]:
        return node.x, node.normal

    def decode(self, code: tuple[Array, Array, Array], features: tuple[Array, Array]) -> Inexact[Array, " channels"]:
        (vector, k, direction), (x, normal) = code, features
        phase = k * (direction @ x)
        lit = jnp.stack([phase / jnp.pi, direction @ normal]).astype(vector.dtype)
        seen = jnp.concatenate([vector, x.astype(vector.dtype), normal.astype(vector.dtype), lit])
        values = self.output.values(self.perceptron(seen))
        return values * jax.lax.complex(jnp.cos(phase), jnp.sin(phase)).astype(values.dtype)

    def scalars(self, code: Any) -> Inexact[Array, " p"]:
        return jnp.zeros(0, self.perceptron.weights[0].dtype)
