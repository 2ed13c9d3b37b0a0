"""The four layers of a function of the distance, by autodiff."""

import functools
import operator
from typing import Literal, get_args

import jax
import jax.numpy as jnp
from jaxtyping import Array

Layer = Literal["single", "double", "adjoint_double", "hypersingular"]
LAYERS: tuple[Layer, ...] = get_args(Layer)


def layer_of(function, layer: Layer, d: Array, target_normal: Array, source_normal: Array) -> Array:
    """The derivative that `layer` takes of a function of |d|², d = target - source."""
    q = dot(d, d)
    if layer == "single":
        return function(q)
    if layer == "double":
        return -2 * slopes(function, q, 1)[1] * dot(d, source_normal)
    if layer == "adjoint_double":
        return 2 * slopes(function, q, 1)[1] * dot(d, target_normal)
    if layer == "hypersingular":
        _, first, second = slopes(function, q, 2)
        return -4 * second * dot(d, target_normal) * dot(d, source_normal) - 2 * first * dot(
            target_normal, source_normal
        )
    raise ValueError(f"`layer` must be one of {', '.join(LAYERS)}, got {layer!r}.")


def slopes(function, q: Array, order: int) -> tuple[Array, ...]:
    """A function of one number and its first derivatives."""
    one = jnp.ones_like(q)
    if order == 0:
        return (function(q),)
    if order == 1:
        return jax.jvp(function, (q,), (one,))
    value = function(q)
    first, second = jax.jvp(lambda q: jax.jvp(function, (q,), (one,))[1], (q,), (one,))
    return value, first, second


def dot(a: Array, b: Array) -> Array:
    """a·b in the plane or in space."""
    # Components, not a sum over them: XLA fuses no reduction, and matrices of pairs would be held in memory.
    return functools.reduce(operator.add, (a[..., i] * b[..., i] for i in range(a.shape[-1])))
