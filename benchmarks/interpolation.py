"""Interpolation in the parameters of direct solves: the rival that every operator has.

The box is mapped to [-1, 1]^d. On one axis points x_0, x_1, ... are paired with Chebyshev's polynomials T_0, T_1, ...; a grid is
a set Λ of multi-indices that with each holds all smaller ones. The values at the points (x_{j_1}, ..., x_{j_d}), j in Λ,
determine one polynomial Σ c_k T_{k_1} ... T_{k_d}, k in Λ. What is interpolated is all that a solve gives: the density at the
nodes of the rule, and the polynomial beside it; boundary and field follow from them as from a solved member.

With V = (T_k(x_j)) = L U on one axis, c = (U⁻¹ ⊗ ... ⊗ U⁻¹)(L⁻¹ ⊗ ... ⊗ L⁻¹) values, one axis after the other and within Λ: what
L⁻¹ reads and U⁻¹ writes has smaller indices, which Λ holds. For sums of levels this is Smolyak's formula (Barthelmann, Novak
and Ritter, Adv. Comput. Math. 12, 2000) without its alternating sum.

Every axis counts alike: no grid here adapts to parameters that matter more. Angles and directions are refused.
"""

import dataclasses
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import edgewise as ew
from edgewise.base.ranges import Interval
from edgewise.base.result import Code, Result
from edgewise.quadrature import AbstractQuadrature
from edgewise.solution import Solution

Kind = Literal["tensor", "smolyak", "degree"]
# Members that one call of `solve` gets, which holds more of each than is kept, and where there are few; so many polynomials are
# evaluated at once.
PIECE, FEW, BLOCK = 2048, 64, 2**14
# Where candidates for Leja's points are looked for.
CANDIDATES = np.sin(np.pi * np.linspace(-0.5, 0.5, 4097))


@dataclasses.dataclass(frozen=True, eq=False)
class Grid:
    """Points of [-1, 1]^d and as many polynomials; the first ones are those of every lower level."""

    axis: np.ndarray
    """The points of one axis."""
    indices: np.ndarray
    """One row for a point, and for its polynomial."""
    levels: np.ndarray
    """The level with which each of them came."""

    @property
    def points(self) -> np.ndarray:
        return self.axis[self.indices]

    def __len__(self) -> int:
        return len(self.indices)

    def coefficients(self, values: np.ndarray) -> np.ndarray:
        """Of the polynomial with these values at the points, a row for each."""
        found, lines = np.array(values), [self._lines(axis) for axis in range(self.indices.shape[1])]
        lower, upper = _eliminated(np.polynomial.chebyshev.chebvander(self.axis, len(self.axis) - 1))
        for inverse in (np.linalg.inv(lower), np.linalg.inv(upper)):
            for groups in lines:
                for group in groups:
                    size = group.shape[1]
                    found[group] = inverse[:size, :size] @ found[group]
        return found

    def evaluate(self, coefficients: np.ndarray, places: np.ndarray) -> np.ndarray:
        """The polynomial with these coefficients at places of shape (members, d)."""
        powers = np.polynomial.chebyshev.chebvander(places, len(self.axis) - 1)
        total = np.zeros((len(places), coefficients.shape[1]), coefficients.dtype)
        for start in range(0, len(self), BLOCK):
            block = self.indices[start : start + BLOCK]
            terms = np.ones((len(places), len(block)))
            for axis, degrees in enumerate(block.T):
                terms *= powers[:, axis, degrees]
            total += terms @ coefficients[start : start + BLOCK]
        return total

    def _lines(self, axis: int) -> list[np.ndarray]:
        """The rows of points that differ in this index alone, those of one length together; of length 1 none are needed."""
        own = self.indices[:, axis]
        order = np.lexsort((own, *np.delete(self.indices, axis, axis=1).T))
        starts = np.flatnonzero(own[order] == 0)
        sizes = np.diff(np.append(starts, len(order)))
        return [order[starts[sizes == m][:, None] + np.arange(m)] for m in np.unique(sizes) if m > 1]


def grid(kind: Kind, dim: int, level: int) -> Grid:
    """A grid in `dim` parameters.

    Arguments:
        kind: "tensor", all products of 2^level + 1 Clenshaw-Curtis points; "smolyak", those whose levels sum to `level` at
            most; "degree", Leja's points, one more with each level: the polynomials of total degree `level`.
    """
    axis, levels = _leja(level) if kind == "degree" else _clenshaw_curtis(level)
    indices, reached = np.zeros((1, 0), np.int16), np.zeros(1, int)
    for _ in range(dim):
        both = np.maximum(reached[:, None], levels) if kind == "tensor" else reached[:, None] + levels
        rows, columns = np.nonzero(both <= level)
        indices = np.column_stack([indices[rows], columns.astype(np.int16)])
        reached = both[rows, columns]
    # Stable, so that points of one level are in the same order in every grid that has them.
    order = np.argsort(reached, kind="stable")
    return Grid(axis, indices[order], reached[order])


def _clenshaw_curtis(level: int) -> tuple[np.ndarray, np.ndarray]:
    """The middle, the ends, then level by level what halves the angles between the points so far."""
    points = np.zeros(1)
    for k in range(1, level + 1):
        angles = np.array([-0.5, 0.5]) if k == 1 else np.arange(1, 2**k, 2) / 2**k - 0.5
        points = _spread(points, np.sin(np.pi * angles), len(angles))
    # 1, 2, 2, 4, 8, ... of them.
    sizes = [1, 2, *(2 ** (k - 1) for k in range(2, level + 1))][: level + 1]
    return points, np.repeat(np.arange(level + 1), sizes)


def _leja(level: int) -> tuple[np.ndarray, np.ndarray]:
    return _spread(np.zeros(1), CANDIDATES, level), np.arange(level + 1)


def _spread(points: np.ndarray, candidates: np.ndarray, count: int) -> np.ndarray:
    """So many candidates more, each where the product of the distances to those before is largest: Leja's order.

    In it elimination needs no pivots: of 257 points L has the condition 4e2, where in the order of bits reversed it has 3e7.
    """
    with np.errstate(divide="ignore"):
        product = np.sum(np.log(np.abs(candidates - points[:, None])), axis=0)
        for _ in range(count):
            following = candidates[np.argmax(product)]
            points = np.append(points, following)
            product += np.log(np.abs(candidates - following))
    return points


def _eliminated(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """L and U, without pivots: rows and columns must keep their order."""
    lower, upper = np.eye(len(matrix)), matrix.copy()
    for k in range(len(matrix) - 1):
        lower[k + 1 :, k] = upper[k + 1 :, k] / upper[k, k]
        upper[k + 1 :, k:] -= np.outer(lower[k + 1 :, k], upper[k, k:])
    return lower, np.triu(upper)


@dataclasses.dataclass(frozen=True, eq=False)
class Interpolation:
    """Parameters in, `Solution` out, as an operator; what it knows are solved members, `interpolation` makes it.

    Not to be traced: it adds up its polynomials in NumPy.
    """

    problem: ew.Problem
    quadrature: AbstractQuadrature
    grid: Grid
    values: np.ndarray
    """What was solved at the grid's points, a row for each."""
    coefficients: np.ndarray

    def __call__(self, *, extrapolate: bool = False, **parameters: Any) -> Solution:
        """The solution of one member, or of a batch."""
        box = self.problem.parameters
        given, count, batched = box.members(parameters, extrapolate=extrapolate)
        low, high = _ends(self.problem)
        flat = np.concatenate([np.asarray(given[name]).reshape(count, -1) for name in box.names], axis=1)
        found = self.grid.evaluate(self.coefficients, (2 * flat - low - high) / (high - low))
        parts = _read(self.problem, self.quadrature, given, jnp.asarray(found))
        inside = box.holds(given, count)
        result = Result(jnp.where(inside, Code.CONVERGED, Code.OUTSIDE), jnp.zeros(count, int))
        rules = jax.vmap(lambda _: self.quadrature)(jnp.arange(count))
        stats = {
            "num_nodes": jnp.full(count, self.quadrature.num_nodes),
            "applications": jnp.zeros(count, int),
        }
        solution = Solution(self.problem, given, *parts, rules, result, stats, batched=True)
        return solution if batched else solution[0]

    @property
    def change(self) -> float:
        """The largest coefficient of the last level over the largest of all: what yet another level would still change."""
        size = np.abs(self.coefficients).max(axis=1)
        return float(size[self.grid.levels == self.grid.levels[-1]].max() / size.max())


def interpolation(
    problem: ew.Problem, grid: Grid, quadrature: AbstractQuadrature, known: Interpolation | None = None
) -> Interpolation:
    """Solves the members at the grid's points, and interpolates.

    Arguments:
        known: One of the same kind and a lower level, whose members are not solved again.
    """
    if problem.family.dim != 2:
        raise ValueError("Interpolation is written for curves; `problem.family` is a surface. Use `ew.fit`.")
    for name, spec in problem.parameters.specs:
        if not isinstance(spec, Interval):
            raise ValueError(f"`{name}` is {spec}; expected an interval: interpolation is by polynomials.")
    solved = known.values if known else None
    low, high = _ends(problem)
    if grid.indices.shape[1] != len(low):
        raise ValueError(f"The grid is for {grid.indices.shape[1]} parameters; the problem has {len(low)}.")
    places = low + (grid.points + 1) / 2 * (high - low)
    values = _solved(problem, places[0 if solved is None else len(solved) :], quadrature)
    values = values if solved is None else np.concatenate([solved, values])
    return Interpolation(problem, quadrature, grid, values, grid.coefficients(values))


def _ends(problem: ew.Problem) -> tuple[np.ndarray, np.ndarray]:
    specs: list[Any] = [spec for _, spec in problem.parameters.specs]
    low, high = (np.concatenate([np.ravel(getattr(spec, end)) for spec in specs]) for end in ("low", "high"))
    return low, high


def members_at(problem: ew.Problem, places: np.ndarray) -> dict[str, np.ndarray]:
    """Rows of numbers as the named parameters of a batch."""
    shapes = [spec.shape for _, spec in problem.parameters.specs]
    columns = np.split(places, np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1], axis=1)
    named = zip(problem.parameters.names, columns, shapes, strict=True)
    return {name: part.reshape(len(places), *shape) for name, part, shape in named}


def _solved(problem: ew.Problem, places: np.ndarray, rule: AbstractQuadrature) -> np.ndarray:
    """Density and polynomial of each member, by batches of two sizes, so that little is compiled."""
    piece, found = FEW if len(places) <= FEW else PIECE, []
    for start in range(0, len(places), piece):
        rows = np.minimum(np.arange(start, start + piece), len(places) - 1)
        # The rule is the caller's: how far the density settles on it is not looked into again.
        solution = ew.solve(problem, quadrature=rule, tol=1e-2, **members_at(problem, places[rows]))
        density, polynomial = solution.density.values, solution.strengths[0].polynomial  # pyright: ignore
        found.append(np.concatenate([np.asarray(density).reshape(piece, -1), np.asarray(polynomial)], axis=1))
    return np.concatenate(found)[: len(places)]


@eqx.filter_jit
def _read(problem: ew.Problem, rule: AbstractQuadrature, parameters: dict[str, Any], found: Any) -> tuple:
    def one(parameters, found):
        member = problem.member(rule, parameters, found.real.dtype, data=False)
        unknowns = member.boundary.s.shape[0] * member.condition.channels
        density = found[:unknowns] if member.condition.channels == 1 else found[:unknowns].reshape(2, -1)
        strengths = member.representation.strengths(member, density, found[unknowns:])
        return rule.density(member.boundary, density), member.boundary, strengths

    return jax.vmap(one)(parameters, found)
