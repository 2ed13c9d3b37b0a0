"""Matrices that are applied and never held: sums, products and multiples of layers, written as if they were arrays."""

import abc
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Inexact


class AbstractOperator(eqx.Module):
    """A square matrix by its action on a vector. Multiples follow the rules of arrays: (n, 1) scales rows, (n,) columns."""

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
        if self.factor.ndim == 2:
            return self.factor[:, 0] * self.operator.apply(x)
        return self.operator.apply(self.factor * x)


class Dyad(AbstractOperator):
    """column · rowᵀ."""

    column: Array
    row: Array

    def apply(self, x: Array) -> Array:
        return self.column * jnp.sum(self.row * x)
