"""What `solve` and `fit` refuse, and in which words: options, curves and data that no rule could serve."""

import dataclasses
from functools import partial
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from edgewise.base.named import bind, check_positive
from edgewise.base.result import Code, Result
from edgewise.geometry import AbstractSurface, Boundary
from edgewise.geometry.checks import are_star_shaped, contains, cross_each_other, crosses_itself
from edgewise.problem import Problem
from edgewise.quadrature import AbstractQuadrature, check_resolves
from edgewise.quadrature.rule import next_even, sides

Values = dict[str, Array]

# The ends of a closed curve agree to rounding, also far from the origin and in single precision.
CLOSED = 1e-4
# A smooth parametrisation never stands still; one that is this much slower somewhere cannot be told from one that does.
MOVING = 1e-9


@dataclasses.dataclass(frozen=True)
class Settings:
    """How to solve: what stays the same for every member."""

    method: Literal["direct", "gmres"]
    tol: float
    dtype: np.dtype
    chunk: int | None


def check_settings(problem: Any, quadrature: Any, method: Any, tol: Any, chunk: Any, real: np.dtype) -> Settings:
    """The options of one call of `solve`, checked."""
    if not isinstance(problem, Problem):
        raise TypeError(f"`solve` takes a `Problem` first, got {problem!r}. Write `solve(problem, t=1.15)`.")
    if method not in ("direct", "gmres"):
        raise ValueError(f'`method` must be "direct" or "gmres", got {method!r}. Write `method="direct"`.')
    check_chunk(chunk)
    floor = float(np.finfo(real).eps)
    if tol is None:
        # At corners errors fall like a power of the nodes, not geometrically: the last digits are dear.
        # In space nodes are dear altogether.
        if isinstance(problem.family, AbstractSurface):
            finest = 1e-4 if problem.family.has_edges else 1e-6
        else:
            finest = 1e-10 if sides(problem.family) else 1e-12
        tol = finest if real == np.float64 else 1e-4
    elif not isinstance(tol, int | float | np.floating) or not floor <= tol < 1:
        raise ValueError(f"`tol` must lie between {floor:.0e} ({real}) and 1, got {tol!r}. Write `tol=1e-10`.")
    if quadrature is not None:
        where, example = ("surfaces", "Duffy(12)") if problem.family.in_space else ("curves", "Kress(256)")
        if not isinstance(quadrature, AbstractQuadrature):
            raise TypeError(f"`quadrature` must be a rule, got {quadrature!r}. Write `quadrature={example}`.")
        if quadrature.dim != problem.family.dim:
            raise ValueError(
                f"`{type(quadrature).__name__}` is no rule for {where}, and `family` is one of {where}. "
                f"Write `quadrature={example}`."
            )
        check_resolves(quadrature, problem.representation.kernel, problem.representation.layers(problem.condition))
        if not quadrature.solves:
            raise ValueError(
                f"`{type(quadrature).__name__}` integrates for targets apart from its nodes, as the paper trains; "
                f"`solve` expects a rule that holds on its own nodes. Use `Kress({next_even(quadrature.num_nodes)})`."
            )
    return Settings(method, float(tol), real, None if chunk is None else int(chunk))


def check_chunk(chunk: Any) -> None:
    if chunk is not None and (isinstance(chunk, bool) or not isinstance(chunk, int | np.integer) or chunk < 1):
        raise ValueError(f"`chunk` must be a whole number of at least 1, got {chunk!r}. Write `chunk=64`.")


def check_numbers(problem: Problem, values: Values) -> None:
    """Refuses numbers, such as a wavenumber of zero or a negative semi-axis, that only the parameters bring in."""
    check_positive((problem.family, problem.representation), values)
    refusal = bind(problem.representation.kernel, values).refusal()
    if refusal:
        raise ValueError(refusal)


def check_curves(problem: Problem, values: Values, count: int) -> None:
    """Refuses members whose curves are not finite, do not close, cross themselves or each other."""
    if not problem.family.curves:
        return
    polygons, gaps = (np.asarray(part) for part in _polygons(problem, values, count, 128))
    curves = polygons.shape[1]
    good = are_star_shaped(polygons.reshape(-1, *polygons.shape[2:])).reshape(gaps.shape) & (gaps < CLOSED)
    for index, curve in np.argwhere(~good):
        member = {name: value[index : index + 1] for name, value in values.items()}
        where = words({name: value[0] for name, value in member.items()})
        the_curve = "The curve" if curves == 1 else f"Curve {curve} of the `Union`"
        if not np.all(np.isfinite(polygons[index, curve])):
            raise ValueError(
                f"{the_curve} is not finite{where}; expected finite points for every s in [0, 2π]. Check `family`."
            )
        if not gaps[index, curve] < CLOSED:
            raise ValueError(
                f"{the_curve} does not close{where}: its ends at s = 0 and s = 2π are {gaps[index, curve]:.1e} of its "
                "size apart; they must meet. Give `family` the period 2π in `s`."
            )
        # Thin curves may seem to cross when sampled coarsely.
        if crosses_itself(polygons[index, curve]) and crosses_itself(
            np.asarray(_polygons(problem, member, 1, 2048)[0])[0, curve]
        ):
            raise ValueError(
                f"{the_curve} crosses itself{where}; a boundary must be a simple closed curve. "
                "Narrow the `Box`, or change `family` so that it encloses one domain."
            )
    if curves > 1:
        polygons = np.asarray(_polygons(problem, values, count, 1024)[0])
        for index in range(count):
            where = words({name: value[index] for name, value in values.items()})
            _check_arrangement(polygons[index], problem.side, where)


def _check_arrangement(curves: np.ndarray, side: str, where: str) -> None:
    """Inside, one curve holds all others, its holes; outside, all lie apart."""
    count = len(curves)
    for i in range(count):
        for j in range(i):
            if cross_each_other(curves[i], curves[j]):
                raise ValueError(
                    f"Curves {j} and {i} of the `Union` overlap{where}; expected curves that do not meet. Move them "
                    "apart, or narrow the `Box`."
                )
    holds = np.array([[i != j and contains(curves[i], curves[j][0]) for j in range(count)] for i in range(count)])
    if side != "interior" and holds.any():
        outer, inner = np.argwhere(holds)[0]
        raise ValueError(
            f"Curve {inner} of the `Union` lies inside curve {outer}{where}; on side {side!r} expected bodies apart "
            'from each other. Write `side="interior"` for a domain with holes.'
        )
    if side == "interior":
        outer = int(np.argmax(holds.sum(axis=1)))
        stray = [j for j in range(count) if j != outer and not (holds[outer, j] and holds[:, j].sum() == 1)]
        if stray:
            raise ValueError(
                f"Curve {stray[0]} of the `Union` is not a hole in curve {outer}{where}: "
                + ("it lies in another hole" if holds[outer, stray[0]] else "it lies outside")
                + '; on side "interior" expected one outer curve and holes in it. Move it, or write `side="exterior"` '
                "for several bodies."
            )


@eqx.filter_jit
def _polygons(problem: Problem, values: Values, count: int, vertices: int) -> tuple[Array, Array]:
    """Points of every curve of every member, and the gap between its ends over its size."""
    s = jnp.linspace(0, 2 * np.pi, vertices + 1)

    def one(curve, parameters):
        points = jax.vmap(lambda s: curve.point(s, **parameters))(s)
        size = jnp.max(jnp.abs(points - points.mean(axis=0)))
        return points[:-1], jnp.max(jnp.abs(points[-1] - points[0])) / size

    def member(parameters):
        points, gaps = zip(*(one(curve, parameters) for curve in problem.family.curves), strict=True)
        return jnp.stack(points), jnp.stack(gaps)

    return jax.vmap(member, axis_size=count)(values)


def words(parameters: Values) -> str:
    listed = ", ".join(f"{name}={np.asarray(value).tolist()}" for name, value in parameters.items())
    return f" at {listed}" if listed else ""


def raise_failures(
    problem: Problem, values: Values, density, boundary: Boundary, strengths, quadrature, result: Result, stats
) -> None:
    """Errors for curves and data that no rule could have solved for."""
    # Nodes graded to corners slow down there on purpose.
    speeds = np.ones((len(boundary.x), 1)) if quadrature.slows_down else np.asarray(boundary.jacobian)
    for index in np.flatnonzero(~(speeds.min(axis=1) > MOVING * speeds.max(axis=1))):
        where = words({name: value[index] for name, value in values.items()})
        s = float(boundary.s[index, int(np.argmin(speeds[index]))])
        raise ValueError(
            f"The curve stands still{where}: dx/ds is 0 near s = {s:.4g}; expected a smooth curve that moves for every "
            "s. Change the parametrisation in `family`."
        )
    codes = np.asarray(result.code)
    for code, refusal in ((Code.NOT_FINITE, _not_finite), (Code.INCOMPATIBLE, partial(_not_balanced, problem))):
        bad = np.flatnonzero(codes == code)
        if len(bad):
            nodes, parameters = _one((boundary, values), bad[0])
            raise ValueError(refusal(nodes, np.asarray(problem.data_on(nodes, parameters)), words(parameters)))


def check_data(problem: Problem, rule: AbstractQuadrature, values: Values, count: int, dtype: Any) -> np.ndarray:
    """Refuses members whose data `solve` would refuse: not finite, or a flux that does not balance. Nothing is solved.

    Returns the largest data of each member.
    """
    boundary, data, value_weight, imbalance = _data_on(problem, rule, values, count, dtype)
    finite = [np.isfinite(np.asarray(part)).reshape(count, -1).all(axis=1) for part in (data, value_weight)]
    bad = np.flatnonzero(~np.all(finite, axis=0))
    if len(bad):
        nodes, parameters, given = _one((boundary, values, data), bad[0])
        raise ValueError(f"{_not_finite(nodes, np.asarray(given), words(parameters))} Or narrow the `Box`.")
    sizes = np.abs(np.asarray(data)).reshape(count, -1).max(axis=1)
    if not np.any(np.asarray(imbalance) > rounding_of_integrals(dtype)):
        return sizes
    finer = rule.finer()
    coarse, fine = np.asarray(imbalance), np.asarray(_data_on(problem, finer, values, count, dtype)[-1])
    # Data that the nodes do not resolve have no integral yet that they could be judged by.
    settled = np.abs(fine - coarse) <= 0.1 * fine
    bad = np.flatnonzero(settled & (fine > rounding_of_integrals(dtype)))
    if len(bad):
        nodes, parameters, given = _one((boundary, values, data), bad[0])
        raise ValueError(_not_balanced(problem, nodes, np.asarray(given), words(parameters)))
    return sizes


def rounding_of_integrals(dtype: Any) -> float:
    """What data computed in this precision can be expected to satisfy, relatively: the square root of rounding."""
    return float(np.sqrt(np.finfo(dtype).eps))


@eqx.filter_jit
def _data_on(
    problem: Problem, rule: AbstractQuadrature, values: Values, count: int, dtype: Any
) -> tuple[Boundary, Array, Array, Array]:
    def one(parameters):
        member = problem.member(rule, parameters, dtype)
        return member.boundary, member.data, member.value_weight, member.imbalance

    return jax.vmap(one, axis_size=count)(values)


def _one(tree: Any, index: Any) -> Any:
    return jax.tree_util.tree_map(lambda leaf: leaf[index], tree)


def _not_finite(nodes: Boundary, data: np.ndarray, where: str) -> str:
    wrong = np.argwhere(~np.isfinite(data))
    if not len(wrong):
        return (
            f"The coefficient of `Robin` is not finite{where}; expected finite values on the whole boundary. Keep its "
            "singularities off it."
        )
    # The last index is the node, also of data with two channels.
    return (
        f"`data` is {data[tuple(wrong[0])]} at x = {np.asarray(nodes.x[wrong[0][-1]]).tolist()}{where}; expected "
        "finite values on the whole boundary. Keep the singularities of `data` off it."
    )


def _not_balanced(problem: Problem, nodes: Boundary, data: np.ndarray, where: str) -> str:
    if problem.representation.kernel.value_shape:
        flux = float(np.sum(np.asarray(nodes.weight)[:, None] * data.T * np.asarray(nodes.normal)))
        return (
            f"More flows out than in{where}: the velocities have the flux {flux:.6g} through the boundary; expected 0, "
            "since a fluid keeps its volume. Subtract it: `data=lambda x, normal, ...: velocity - "
            f"{flux / float(nodes.measure):.6g} * normal`."
        )
    total = float(np.sum(np.asarray(nodes.weight) * data).real)
    return (
        f"Neumann data have integral {total:.6g} over the boundary{where}; inside, a solution exists only if it is 0. "
        f"Subtract their mean: `data=lambda x, ...: data(x, ...) - {total / float(nodes.measure):.6g}`."
    )
