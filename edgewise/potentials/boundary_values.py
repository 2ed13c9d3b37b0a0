"""Boundary data given by its values at nodes."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Inexact

from edgewise.base.named import Parameter, number
from edgewise.geometry import Boundary
from edgewise.special import interpolate


class BoundaryValues(eqx.Module):
    """Data by n values at the boundary coordinates s = 2πj/n, and between them by their trigonometric interpolant.

    Arguments:
        values: Numbers of shape (n,), or (curves, n) for several curves; or the name of a parameter of that shape, in
            which the answer is linear: `BoundaryValues("g")` with `Box(g=(-np.ones(16), np.ones(16)))`.

    >>> import numpy as np
    >>> import edgewise as ew
    >>> ew.enable_x64()
    >>> s = 2 * np.pi * np.arange(8) / 8
    >>> problem = ew.Problem(
    ...     ew.Ellipse(1.0, 1.0), None, ew.SingleLayer(ew.Laplace(2)), BoundaryValues(np.cos(2 * s)), "interior"
    ... )
    >>> round(float(ew.solve(problem)(jnp.array([0.5, 0.0]))), 4)
    0.25
    """

    values: Any
    is_wave: ClassVar[bool] = False

    def __init__(self, values: Any):
        self.values = number(values)
        if not isinstance(self.values, Parameter):
            _check(jnp.shape(self.values))

    def on(self, boundary: Boundary) -> Inexact[Array, " n"]:
        """At nodes, once the values are known."""
        values = jnp.asarray(self.values)
        _check(values.shape)
        curves = boundary.components
        if values.ndim != (1 if curves == 1 else 2) or (curves > 1 and values.shape[0] != curves):
            expected = "(n,)" if curves == 1 else f"({curves}, n)"
            raise ValueError(
                f"`BoundaryValues` has values of shape {values.shape} on {curves} curve{'s' * (curves > 1)}; "
                f"expected {expected}, n values at s = 2πj/n of every curve."
            )
        s = boundary.s.reshape(curves, -1)
        own = values.reshape(curves, -1)
        return jax.vmap(lambda values, s: jax.vmap(lambda s: interpolate(values, s))(s))(own, s).reshape(-1)


def _check(shape: tuple[int, ...]) -> None:
    if len(shape) not in (1, 2) or shape[-1] < 2:
        raise ValueError(
            f"`BoundaryValues` takes n values at s = 2πj/n, two or more, got shape {shape}. "
            "Write `BoundaryValues(np.cos(s))`, or the name of a parameter that holds them."
        )
