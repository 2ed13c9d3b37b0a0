"""Finds the parameters that enter only the boundary data, and linearly: the solution is then linear in them."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from edgewise.base.named import names_in
from edgewise.base.precision import double_precision
from edgewise.learn.amounts import Chebyshev, Superposition
from edgewise.learn.collocation import Values
from edgewise.learn.remembered import remembered
from edgewise.potentials import BoundaryValues
from edgewise.problem import Problem
from edgewise.quadrature import rule_for

# Nodes at which data are looked at: data that vanish at all of them have waves that a boundary hardly resolves.
NODES = 46
# Angles at which data are looked at that may be a trigonometric polynomial, and the highest order it may have.
ROUND, HIGHEST = 32, 6
# What polynomials of one number may leave out of data, and the highest of them.
SMALL, HIGHEST_POLYNOMIAL = 1e-10, 48
# What data may miss of a sum that they are said to be, relative to the largest.
ROUNDING = 1e-12


def data_names(problem: Problem) -> tuple[str, ...]:
    """Parameters that the equation does not depend on: members that differ in nothing else share its matrix."""
    shaping = names_in((problem.family, problem.representation, problem.condition, problem.at_infinity))
    return tuple(name for name in problem.parameters.names if name not in shaping)


@remembered
def linear_names(problem: Problem) -> tuple[str, ...]:
    """Parameters that enter only the data, and linearly: the solution is then linear in them too.

    Linearity is tested by values at some points: for all such parameters together, for all but one, or for one alone.
    """
    # A charge at infinity stays when the data vanish.
    if problem.data.is_wave or problem.at_infinity is not None:
        return ()
    names = tuple(name for name in _asked_for(problem) if dict(problem.parameters.specs)[name].is_linear)
    but_one = (tuple(name for name in names if name != other) for other in names)
    alternatives = (names, *but_one, *((name,) for name in names))
    # An operator must look the same in sessions of either precision.
    with double_precision():
        return next((some for some in alternatives if some and _is_linear(problem, some)), ())


@remembered
def superposition(problem: Problem) -> Superposition:
    """The multipliers, made of parameters that enter only the data."""
    linear = linear_names(problem)
    numbers = sum(spec.axes for name, spec in problem.parameters.specs if name in linear)
    around, orders = _turned_by(problem, linear)
    asked = _asked_for(problem)
    return Superposition(
        linear=linear,
        around=around,
        orders=orders,
        are_values=isinstance(problem.data, BoundaryValues),
        numbers=numbers or 1,
        unused=tuple(name for name in data_names(problem) if name not in asked),
    )


@remembered
def polynomials(problem: Problem) -> Chebyshev | None:
    """Polynomials of the parameter that enters only the data and needs the most of them, if these are not too many."""
    if problem.family.in_space:
        return None
    specs = dict(problem.parameters.specs)
    found = []
    for name in data_names(problem):
        spec = specs[name]
        low, high = spec.bounds
        if spec.is_linear and not spec.shape and high > low:
            more = Chebyshev(name, low, high, HIGHEST_POLYNOMIAL + 8)
            found.append(dataclasses.replace(more, highest=_highest_of(problem, more)))
    return max(
        (one for one in found if 0 < one.highest <= HIGHEST_POLYNOMIAL), key=lambda one: one.highest, default=None
    )


def _highest_of(problem: Problem, every: Chebyshev) -> int:
    """The highest polynomial in the data to ten digits, over some members; the last where data are not finite."""
    rule = rule_for(problem.family, NODES)
    # An operator must look the same in sessions of either precision.
    with double_precision():
        draws = problem.parameters.extremes(jax.random.key(0), 6)
        settings, shares = every.settings(problem.parameters, float)

        def seen(parameters):
            nodes = rule.place(problem.family, parameters, float)
            return jax.vmap(lambda own: problem.data_on(nodes, parameters | own))(settings)

        values = np.asarray(jax.vmap(seen)(draws)).reshape(6, every.count, -1)
    size = np.max(np.abs(np.einsum("sj,msn->mjn", shares, values)), axis=(0, 2))
    counts = ~(size <= SMALL * np.max(size))
    return int(np.max(np.flatnonzero(counts), initial=0))


def _asked_for(problem: Problem) -> tuple[str, ...]:
    """Parameters that enter the data and nothing else."""
    return tuple(name for name in data_names(problem) if name in names_in(problem.data))


def _turned_by(problem: Problem, linear: tuple[str, ...]) -> tuple[str | None, tuple[int, ...]]:
    """A number that enters only the data, and as a trigonometric polynomial; and the orders of that."""
    nothing = None, (0,)
    if problem.data.is_wave or problem.family.in_space or problem.at_infinity is not None:
        return nothing
    specs = dict(problem.parameters.specs)
    numbers = [name for name in _asked_for(problem) if name not in linear and not specs[name].shape]
    found = [(name, orders) for name in numbers for orders in [_orders_of(problem, name)] if orders]
    return max(found, key=lambda one: max(one[1]), default=nothing)


def _orders_of(problem: Problem, name: str) -> tuple[int, ...]:
    """The harmonics of this number in the data; none where they are too many, or the data are no such polynomial.

    Found from values all the way round, of which the box may have a part, and compared with values in the box.
    """
    angles = 2 * np.pi * np.arange(ROUND) / ROUND
    with double_precision():
        values, own, given = (
            np.stack(part) for part in zip(*(_seen(problem, name, angles, i) for i in range(3)), strict=True)
        )
    if not (np.all(np.isfinite(values)) and np.all(np.isfinite(given))):
        return ()
    waves = np.fft.fft(values, axis=1) / ROUND
    size = np.max(np.abs(waves), axis=(0, 2))
    size = np.maximum(size, size[-np.arange(ROUND)])[: ROUND // 2 + 1]
    orders = tuple(int(q) for q in np.flatnonzero(size > ROUNDING * np.max(size)))
    if not orders or max(orders) > HIGHEST:
        return ()
    each = np.fft.fftfreq(ROUND, 1 / ROUND)
    found = np.einsum("iaq,iqn->ian", np.exp(1j * own[..., None] * each), waves)
    return orders if np.max(np.abs(found - given)) <= 100 * ROUNDING * np.max(np.abs(values)) else ()


def _seen(problem: Problem, name: str, angles: np.ndarray, key: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One member's data at these values of a number, and some values of it in the box with the data there."""
    draws = problem.parameters.sample(jax.random.key(key), 6)
    draw = {other: value[0] for other, value in draws.items()}
    boundary = rule_for(problem.family, NODES).place(problem.family, draw, np.dtype(float))

    def at(numbers: np.ndarray) -> np.ndarray:
        found = jax.vmap(lambda number: problem.data_on(boundary, draw | {name: number}))(jnp.asarray(numbers))
        return np.asarray(found).reshape(len(numbers), -1)

    own = np.asarray(draws[name])
    return at(angles), own, at(own)


def _is_linear(problem: Problem, names: tuple[str, ...]) -> bool:
    first, second, third = (
        {name: value[0] for name, value in problem.parameters.sample(jax.random.key(i), 1).items()} for i in range(3)
    )
    boundary = rule_for(problem.family, NODES).place(problem.family, first, np.dtype(float))

    def data(values: Values) -> np.ndarray:
        return np.asarray(problem.data_on(boundary, first | values))

    one, two = ({name: draw[name] for name in names} for draw in (second, third))
    both = {name: 2 * one[name] - 3 * two[name] for name in names}
    parts = 2 * data(one), 3 * data(two)
    size = max(np.max(np.abs(part)) for part in parts)
    return bool(np.max(np.abs(data(both) - parts[0] + parts[1])) <= 100 * np.finfo(float).eps * size)
