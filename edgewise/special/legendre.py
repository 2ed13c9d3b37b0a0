"""Gauss nodes on [-1, 1], and polynomials known by their values there."""

import functools

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


@functools.cache
def gauss(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of Gauss's rule.

    >>> x, w = gauss(3)
    >>> round(float(w @ x**4), 12)
    0.4
    """
    return np.polynomial.legendre.leggauss(count)


@functools.cache
def to_coefficients(count: int) -> np.ndarray:
    """The matrix from values at Gauss nodes to the Legendre coefficients of their interpolant."""
    x, w = gauss(count)
    return (np.arange(count)[:, None] + 0.5) * np.polynomial.legendre.legvander(x, count - 1).T * w


@functools.cache
def differentiation(count: int) -> np.ndarray:
    """The matrix from values at Gauss nodes to the derivative of their interpolant there."""
    slopes = np.pad(np.polynomial.legendre.legder(np.eye(count), axis=1), ((0, 0), (0, 1)))
    return np.polynomial.legendre.legvander(gauss(count)[0], count - 1) @ slopes.T @ to_coefficients(count)


@functools.cache
def interpolation(count: int, finer: int) -> np.ndarray:
    """The matrix from values at Gauss nodes to those of their interpolant at other, finer Gauss nodes."""
    return np.polynomial.legendre.legvander(gauss(finer)[0], count - 1) @ to_coefficients(count)


@functools.cache
def _barycentric(count: int) -> np.ndarray:
    x, w = gauss(count)
    return (-1.0) ** np.arange(count) * np.sqrt((1 - x**2) * w)


def lagrange(count: int, x: Float[Array, "..."]) -> Float[Array, "... count"]:
    """What the value at x of a polynomial takes of its values at Gauss nodes: the second barycentric formula.

    >>> nodes, _ = gauss(4)
    >>> round(float(lagrange(4, jnp.array(0.5)) @ nodes**3), 6)
    0.125
    """
    nodes, weights = (jnp.asarray(part, x.dtype) for part in (gauss(count)[0], _barycentric(count)))
    apart = x[..., None] - nodes
    hit = apart == 0
    terms = jnp.where(jnp.any(hit, axis=-1, keepdims=True), hit, weights / jnp.where(hit, 1, apart))
    return terms / jnp.sum(terms, axis=-1, keepdims=True)
