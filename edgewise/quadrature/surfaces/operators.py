"""Matrices that are applied and never held: sums, products and multiples of layers, written as if they were arrays."""

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Inexact, Int

from edgewise.kernels import AbstractKernel, Layer
from edgewise.quadrature.surfaces.centred import of_normal


class AbstractOperator(eqx.Module):
    """A square matrix by its action on a vector.

    Multiples follow the rules of arrays: a factor of shape (n, 1) scales rows, one of shape (n,) columns.
    """

    # NumPy would otherwise take an operator for a number and make an array of objects.
    __array_ufunc__ = None

    @abc.abstractmethod
    def apply(self, x: Inexact[Array, " n"]) -> Inexact[Array, " n"]:
        """The matrix times a vector."""

    def __matmul__(self, other: Any) -> Any:
        return Product(self, other) if isinstance(other, AbstractOperator) else self.apply(other)

    def __add__(self, other: Any) -> "AbstractOperator":
        # An empty sum is written as a number.
        return Sum(self, other) if isinstance(other, AbstractOperator) else self

    __radd__ = __add__

    def __sub__(self, other: "AbstractOperator") -> "AbstractOperator":
        return Sum(self, -1.0 * other)

    def __mul__(self, factor: Any) -> "AbstractOperator":
        return Multiple(self, jnp.asarray(factor))

    __rmul__ = __mul__

    def __truediv__(self, factor: Any) -> "AbstractOperator":
        return Multiple(self, 1 / jnp.asarray(factor))


class Identity(AbstractOperator):
    def apply(self, x: Array) -> Array:
        return x


class Sum(AbstractOperator):
    first: AbstractOperator
    second: AbstractOperator

    def apply(self, x: Array) -> Array:
        return self.first.apply(x) + self.second.apply(x)


class Product(AbstractOperator):
    first: AbstractOperator
    second: AbstractOperator

    def apply(self, x: Array) -> Array:
        return self.first.apply(self.second.apply(x))


class Multiple(AbstractOperator):
    operator: AbstractOperator
    factor: Array

    def apply(self, x: Array) -> Array:
        if self.factor.shape[1:]:
            return self.factor[:, 0] * self.operator.apply(x)
        return self.operator.apply(self.factor * x)


class Dyad(AbstractOperator):
    """column · rowᵀ."""

    column: Array
    row: Array

    def apply(self, x: Array) -> Array:
        return self.column * jnp.sum(self.row * x)


class LayerOperator(AbstractOperator):
    """A layer on the nodes of panels: close pairs are kept, all others computed each time, some rows at once."""

    kernel: AbstractKernel
    layer: Layer = eqx.field(static=True)
    x: Float[Array, "n 3"]
    normal: Float[Array, "n 3"]
    weight: Float[Array, " n"]
    local: Float[Array, " n"]
    target: Int[Array, " k"]
    panel: Int[Array, " k"]
    near: Inexact[Array, "k nn"]
    apart: Bool[Array, "n p"]
    """Which nodes are close to which panels: not these."""
    rows: int = eqx.field(static=True)

    def apply(self, x: Inexact[Array, " n"]) -> Inexact[Array, " n"]:
        size = self.near.shape[1]
        strengths = x if of_normal(self.layer) else x * self.local
        close = jnp.sum(self.near * strengths.reshape(-1, size)[self.panel], axis=1)
        amounts = x * self.weight

        def one(node):
            x, normal, apart = node
            d = x - self.x
            # On its own panel a node is not looked at, and must not divide by zero.
            d = jnp.where(jnp.repeat(apart, size)[:, None], d, 1.0)
            values = self.kernel.layer(self.layer, d, normal, self.normal) * amounts
            return jnp.sum(jnp.where(apart, values.reshape(-1, size).sum(axis=1), 0))

        far = jax.lax.map(one, (self.x, self.normal, self.apart), batch_size=min(self.rows, len(self.x)))
        return far.at[self.target].add(close)
