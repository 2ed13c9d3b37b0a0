"""Polynomials of numbers that a rotation multiplies by a phase, sorted by their order.

The polynomials of a complex number y in the unit disc are Zernike's, P_k(|y|²) y^l and their conjugates, of degree 2k +
l and order ±l κ; those of a real number in [-1, 1] are Legendre's. A term is a product of one polynomial of each
number. It is kept as a pair: the product over the first half of the numbers, and the product over the second half.

The products kept are those with Σ (c_j d_j)^p <= some bound, where d_j is the degree in number j and c_j the cost of
one of its degrees. With p = 1 and equal costs the bound is on the total degree; but then the largest terms left out are
products of many numbers, and the smallest terms kept are powers of one number. With p = 1.5, and costs by how fast each
number's powers fall off, half the terms of one order leave out as little, for densities of eight coefficients in
Laplace's and Helmholtz' equation alike.
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
# p of the sum above, and parts of one that costs are told apart by: as whole numbers they are the same everywhere.
POWER, PARTS = 1.5, 256


@dataclasses.dataclass(frozen=True, eq=False)
class Terms:
    """All terms up to a bound on their cost and of order 0 or more, sorted by order, in blocks of one order each. Those
    of order -κ are the conjugates of those of order κ.

    Those of order -κ are the conjugates of those of order κ.
    """

    highest: tuple[int, ...]
    """The highest degree of each number."""
    halves: tuple[np.ndarray, np.ndarray]
    """For each half a row per product: which function it takes of each number."""
    left: np.ndarray
    """The product of the first half in each term, shape (blocks, BLOCK)."""
    right: np.ndarray
    """The product of the second half in each term."""
    is_term: np.ndarray
    """False where a block is not filled up."""
    orders: np.ndarray
    """The order of each block."""

    @property
    def longest(self) -> int:
        """The number of terms of the order that has most of them."""
        counts = np.sum(self.is_term, axis=1)
        return max(int(np.sum(counts[self.orders == order])) for order in np.unique(self.orders))

    def products(
        self, turning: Complex[Array, " k"], still: Float[Array, " l"]
    ) -> tuple[Complex[Array, " u"], Complex[Array, " v"]]:
        """The value of every product of each half for one member."""
        tables = [_zernike(y, n) for y, n in zip(turning, self.highest, strict=False)]
        tables += [_legendre(t, n) for t, n in zip(still, self.highest[len(tables) :], strict=True)]
        split = self.halves[0].shape[1]
        return _multiplied(tables[:split], self.halves[0]), _multiplied(tables[split:], self.halves[1])


@functools.lru_cache(maxsize=8)
def terms_of(orders: tuple[int, ...], costs: tuple[float, ...], most: int, degree: int, highest: int) -> Terms:
    """The terms of complex numbers of these orders, and of real ones.

    Arguments:
        costs: Of a degree of each number, complex ones first.
        most: At most so many terms of either sign of the order, the cheapest.
        degree: The highest of any number of cost 1.
        highest: The largest order that is kept.
    """
    bound = _bound(len(orders), costs, most, degree)
    top = tuple(_highest(cost, bound) for cost in costs)
    turning = [
        (_costs(_degrees(n), cost), order * _turns(n)) for n, cost, order in zip(top, costs, orders, strict=False)
    ]
    still = [(_costs(np.arange(n + 1), cost), np.zeros(n + 1, int)) for n, cost in zip(top, costs, strict=True)]
    functions = [*turning, *still[len(turning) :]]
    split = (len(functions) + 1) // 2
    (one, costs_one, orders_one), (two, costs_two, orders_two) = (
        _combined(part, bound) for part in (functions[:split], functions[split:])
    )
    # Row by row: all pairs at once would be many times as many as are kept.
    pairs = [np.flatnonzero(costs_two <= bound - cost) for cost in costs_one]
    left = np.repeat(np.arange(len(one)), [len(pair) for pair in pairs])
    right = np.concatenate(pairs)
    order = orders_one[left] + orders_two[right]
    rank = np.lexsort((costs_one[left] + costs_two[right], order))
    rank = rank[(order[rank] >= 0) & (order[rank] <= highest)]
    own = [rank[order[rank] == value] for value in np.unique(order[rank])]
    pieces = [some[start : start + BLOCK] for some in own for start in range(0, len(some), BLOCK)]
    # Filled up with a term of the same order, which is never given a weight.
    chosen = np.stack([np.pad(piece, (0, BLOCK - len(piece)), mode="edge") for piece in pieces])
    is_term = np.arange(BLOCK) < np.array([[len(piece)] for piece in pieces])
    return Terms(
        top,
        (one, two),
        left[chosen].astype(np.int32),
        right[chosen].astype(np.int32),
        is_term,
        order[chosen[:, 0]],
    )


def _bound(turning: int, costs: tuple[float, ...], most: int, degree: int) -> int:
    """The largest sum of costs, no larger than that of `degree`, with at most so many terms; enough for the first
    degrees alone."""
    limit = int(_costs(np.array(degree), 1.0))
    counts = np.zeros(limit + 1)
    counts[0] = 1
    for i, cost in enumerate(costs):
        n = _highest(cost, limit)
        own = _costs(_degrees(n) if i < turning else np.arange(n + 1), cost)
        # A convolution by the few sums that one number has: by all of them, it is slow.
        before, counts = counts, np.zeros(limit + 1)
        for more, many in zip(*np.unique(own, return_counts=True), strict=True):
            counts[more:] += many * before[: limit + 1 - more]
    fitting = int(np.searchsorted(np.cumsum(counts), most, "right")) - 1
    return max(min(fitting, limit), int(_costs(np.array(1), max(costs))))


def _highest(cost: float, bound: int) -> int:
    """The largest degree of a number alone."""
    return int(np.searchsorted(_costs(np.arange(bound + 1), cost), bound, "right")) - 1


def _costs(degrees: np.ndarray, cost: float) -> np.ndarray:
    return np.rint(PARTS * (cost * degrees) ** POWER).astype(int)


def _pairs(degree: int) -> list[tuple[int, int]]:
    """Powers of y and of its conjugate."""
    return [(p, q) for p, q in itertools.product(range(degree + 1), repeat=2) if p + q <= degree]


def _degrees(degree: int) -> np.ndarray:
    return np.array([p + q for p, q in _pairs(degree)])


def _turns(degree: int) -> np.ndarray:
    return np.array([p - q for p, q in _pairs(degree)])


def _combined(functions: list[tuple[np.ndarray, np.ndarray]], bound: int) -> tuple[np.ndarray, ...]:
    """All choices of one function of each number whose costs add up to no more than this; their costs and orders."""
    rows, costs, orders = np.zeros((1, 0), np.int32), np.zeros(1, int), np.zeros(1, int)
    for own_costs, own_orders in functions:
        i, j = np.nonzero(costs[:, None] + own_costs <= bound)
        rows = np.column_stack([rows[i], j.astype(np.int32)])
        costs, orders = costs[i] + own_costs[j], orders[i] + own_orders[j]
    return rows, costs, orders


def _multiplied(tables: Sequence[Array], rows: np.ndarray) -> Array:
    """For each row the product of the functions that it takes."""
    chosen = [table[rows[:, i]] for i, table in enumerate(tables)]
    return functools.reduce(jnp.multiply, chosen) if chosen else jnp.ones(1)


def _zernike(y: Complex[Array, ""], degree: int) -> Complex[Array, " f"]:
    """All functions of one number, in the order of `_pairs`, with mean square one on the disc."""
    # |y|² as a product: the modulus itself has no derivative at 0.
    x = 2 * (y.real**2 + y.imag**2) - 1
    m = np.arange(degree + 1)
    powers = [jnp.ones_like(y)]
    for _ in range(degree):
        powers.append(powers[-1] * y)
    # Jacobi's polynomials P_n with the weight (1 + x)^m, for all m at once, by their recurrence.
    radial = [jnp.ones(degree + 1, x.dtype), 1 + _as(m + 2, x) * (x - 1) / 2]
    for n in range(2, degree // 2 + 1):
        a = 2 * n * (n + m) * (2 * n + m - 2)
        b = -(2 * n + m - 1) * m**2 / a
        c = (2 * n + m - 2) * (2 * n + m - 1) * (2 * n + m) / a
        d = 2 * (n - 1) * (n + m - 1) * (2 * n + m) / a
        radial.append((_as(b, x) + _as(c, x) * x) * radial[-1] - _as(d, x) * radial[-2])
    pairs = _pairs(degree)
    low, turns = np.array([min(pair) for pair in pairs]), _turns(degree)
    sizes = np.sqrt(np.array([p + q + 1 for p, q in pairs]))
    power = jnp.stack(powers)[np.abs(turns)]
    power = jnp.where(turns < 0, power.conj(), power)
    return _as(sizes, x) * jnp.stack(radial)[low, np.abs(turns)] * power


def _legendre(t: Float[Array, ""], degree: int) -> Float[Array, " f"]:
    values = [jnp.ones_like(t), t]
    for n in range(1, degree):
        values.append(((2 * n + 1) * t * values[-1] - n * values[-2]) / (n + 1))
    return _as(np.sqrt(2 * np.arange(degree + 1) + 1), t) * jnp.stack(values[: degree + 1])


def _as(numbers: np.ndarray, like: Any) -> Array:
    return jnp.asarray(numbers, like.dtype)
