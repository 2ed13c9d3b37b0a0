"""Polynomials of numbers that turn, by their order: of degree 8 in four complex numbers there are 12,870.

Of one complex number y in the unit disc they are Zernike's, P_k(|y|²) y^l and their conjugates, of degree 2k + l and order ±l κ; of
a real one in [-1, 1] Legendre's. A term is a product of one of each. It is kept as a pair: what the first half of the numbers has
in it, and what the second half has.
"""

import dataclasses
import functools
import itertools
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

# So many terms of one order are added up at a time.
BLOCK = 64


@dataclasses.dataclass(frozen=True, eq=False)
class Terms:
    """All terms up to a total degree of order 0 or more, sorted by order, in blocks of one order each.

    Those of order -κ are the conjugates of those of order κ.
    """

    degree: int
    stretches: tuple[int, ...]
    """Of each real number: so many of its own degrees count as one."""
    halves: tuple[np.ndarray, np.ndarray]
    """Of each half, a row for a product: which function it takes of each number."""
    left: np.ndarray
    """Shape (blocks, BLOCK): of each term the product of the first half,"""
    right: np.ndarray
    """and of the second."""
    is_term: np.ndarray
    """Where a block is not filled up."""
    orders: np.ndarray
    """Of each block."""

    @property
    def longest(self) -> int:
        """How many terms the order with most of them has."""
        counts = np.sum(self.is_term, axis=1)
        return max(int(np.sum(counts[self.orders == order])) for order in np.unique(self.orders))

    def products(
        self, turning: Complex[Array, " k"], still: Float[Array, " l"]
    ) -> tuple[Complex[Array, " u"], Complex[Array, " v"]]:
        """What every product of each half is for one member."""
        highest = self.degree * max(self.stretches, default=1)
        tables = [*_zernike(turning, self.degree), *_legendre(still, highest)]
        split = self.halves[0].shape[1]
        return _multiplied(tables[:split], self.halves[0]), _multiplied(tables[split:], self.halves[1])


@functools.lru_cache(maxsize=8)
def terms_of(orders: tuple[int, ...], stretches: tuple[int, ...], degree: int, highest: int) -> Terms:
    """Those of complex numbers of these orders, and of a real one for every stretch.

    Arguments:
        highest: The largest order that is kept.
    """
    functions = [(_degrees(degree), order * _turns(degree)) for order in orders]
    functions += [(own, np.zeros_like(own)) for own in (_stretched(degree, stretch) for stretch in stretches)]
    split = (len(functions) + 1) // 2
    (one, degrees_one, orders_one), (two, degrees_two, orders_two) = (
        _combined(part, degree) for part in (functions[:split], functions[split:])
    )
    # Row by row: all pairs at once would be many times as many as are kept.
    pairs = [np.flatnonzero(degrees_two <= degree - d) for d in degrees_one]
    left = np.repeat(np.arange(len(one)), [len(pair) for pair in pairs])
    right = np.concatenate(pairs)
    order = orders_one[left] + orders_two[right]
    rank = np.lexsort((degrees_one[left] + degrees_two[right], order))
    rank = rank[(order[rank] >= 0) & (order[rank] <= highest)]
    own = [rank[order[rank] == value] for value in np.unique(order[rank])]
    pieces = [some[start : start + BLOCK] for some in own for start in range(0, len(some), BLOCK)]
    # Filled up with a term of the same order, which is never given a weight.
    chosen = np.stack([np.pad(piece, (0, BLOCK - len(piece)), mode="edge") for piece in pieces])
    is_term = np.arange(BLOCK) < np.array([[len(piece)] for piece in pieces])
    return Terms(
        degree,
        stretches,
        (one, two),
        left[chosen].astype(np.int32),
        right[chosen].astype(np.int32),
        is_term,
        order[chosen[:, 0]],
    )


def highest_degree(turning: int, stretches: tuple[int, ...], most: int, limit: int) -> int:
    """The largest total degree, no larger than `limit`, of which there are at most so many terms of either sign of the order."""
    functions = [_degrees(limit)] * turning + [_stretched(limit, stretch) for stretch in stretches]
    counts = np.ones(1)
    for own in functions:
        counts = np.convolve(counts, np.bincount(own))[: limit + 1]
    return int(max(np.sum(np.cumsum(counts) <= most) - 1, 1))


def _stretched(degree: int, stretch: int) -> np.ndarray:
    """What the degrees of a real number count."""
    return -(-np.arange(stretch * degree + 1) // stretch)


def _pairs(degree: int) -> list[tuple[int, int]]:
    """Powers of y and of its conjugate."""
    return [(p, q) for p, q in itertools.product(range(degree + 1), repeat=2) if p + q <= degree]


def _degrees(degree: int) -> np.ndarray:
    return np.array([p + q for p, q in _pairs(degree)])


def _turns(degree: int) -> np.ndarray:
    return np.array([p - q for p, q in _pairs(degree)])


def _combined(functions: list[tuple[np.ndarray, np.ndarray]], degree: int) -> tuple[np.ndarray, ...]:
    """All choices of one function of each number whose degrees add up to `degree` or less; their degrees and orders."""
    rows, degrees, orders = np.zeros((1, 0), np.int32), np.zeros(1, int), np.zeros(1, int)
    for own_degrees, own_orders in functions:
        i, j = np.nonzero(degrees[:, None] + own_degrees <= degree)
        rows = np.column_stack([rows[i], j.astype(np.int32)])
        degrees, orders = degrees[i] + own_degrees[j], orders[i] + own_orders[j]
    return rows, degrees, orders


def _multiplied(tables: Sequence[Array], rows: np.ndarray) -> Array:
    """Of each row the product of the functions it takes."""
    chosen = [table[rows[:, i]] for i, table in enumerate(tables)]
    return functools.reduce(jnp.multiply, chosen) if chosen else jnp.ones(1)


def _zernike(y: Complex[Array, " k"], degree: int) -> list[Complex[Array, " f"]]:
    """Of each number all functions, in the order of `_pairs`, with mean square one on the disc."""
    # |y|² as a product: the modulus itself has no derivative at 0.
    x = 2 * (y.real**2 + y.imag**2) - 1
    m = np.arange(degree + 1)
    powers = [jnp.ones_like(y)]
    for _ in range(degree):
        powers.append(powers[-1] * y)
    # Jacobi's polynomials P_n with the weight (1 + x)^m, for all m at once, by their recurrence.
    radial = [jnp.ones((len(y), degree + 1), x.dtype), 1 + (m + 2) * (x[:, None] - 1) / 2]
    for n in range(2, degree // 2 + 1):
        a = 2 * n * (n + m) * (2 * n + m - 2)
        b = -(2 * n + m - 1) * m**2 / a
        c = (2 * n + m - 2) * (2 * n + m - 1) * (2 * n + m) / a
        d = 2 * (n - 1) * (n + m - 1) * (2 * n + m) / a
        radial.append((_as(b, x) + _as(c, x) * x[:, None]) * radial[-1] - _as(d, x) * radial[-2])
    pairs = _pairs(degree)
    low, turns = np.array([min(pair) for pair in pairs]), _turns(degree)
    sizes = np.sqrt(np.array([p + q + 1 for p, q in pairs]))
    power = jnp.stack(powers, axis=1)[:, np.abs(turns)]
    power = jnp.where(turns < 0, power.conj(), power)
    return list(_as(sizes, x) * jnp.stack(radial, axis=1)[:, low, np.abs(turns)] * power)


def _legendre(t: Float[Array, " l"], degree: int) -> list[Float[Array, " f"]]:
    values = [jnp.ones_like(t), t]
    for n in range(1, degree):
        values.append(((2 * n + 1) * t * values[-1] - n * values[-2]) / (n + 1))
    sizes = np.sqrt(2 * np.arange(degree + 1) + 1)
    return list(_as(sizes, t) * jnp.stack(values[: degree + 1], axis=1))


def _as(numbers: np.ndarray, like: Any) -> Array:
    return jnp.asarray(numbers, like.dtype)
