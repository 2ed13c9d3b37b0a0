"""Finds what turns with the plane in a problem: numbers of the shape and, with them, the data.

With the plane as complex numbers a boundary is z(s) = Σ_m X_m e^{ims}. Seen from its point s, by someone who turns with
it, the coefficients are X_m e^{i(m-1)s}. A number that is multiplied by e^{iκs} has the order κ. Where the equation
itself knows no direction, the density at s is one function of the shape and the data as they are seen from s, the same
for all s and all members.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from edgewise.base.named import UserFunction, names_in
from edgewise.base.parameters import Box
from edgewise.base.precision import double_precision
from edgewise.kernels import Helmholtz, Laplace, ModifiedHelmholtz
from edgewise.learn.collocation import Values, training_members
from edgewise.learn.frame import wave_direction, wavenumber_name
from edgewise.learn.inputs import Fixed, ParameterInputs, axes_of
from edgewise.learn.multiplied import superposition
from edgewise.learn.remembered import remembered
from edgewise.learn.turned_data import Column, columns_of
from edgewise.problem import Problem
from edgewise.quadrature import rule_for
from edgewise.quadrature.rule import sides

# Nodes that resolve a boundary, members that show what varies, and the share of its size that still counts.
NODES, MEMBERS, LEAST = 64, 128, 1e-7
# A number that turns should vary about zero: its mean may be this share of its root mean square.
CENTRED = 0.5
# Assumed decay of the coefficients per degree: this factor times the slope that the number gives the boundary
# (measured: a tenth for mode 2 with an amplitude of 0.12 radii, a fifth for mode 5), and its bounds.
SLOPE, SHARES = 0.6, (0.02, 0.6)
# The same for a real number, such as the size of a body or a Robin coefficient.
REAL = 0.3
# So many radians of a phase ask for one more degree of the wavenumber.
RADIANS = 8.0


class TurningNumbers(eqx.Module):
    """Shape coordinates of a member: complex ones, which a rotation multiplies by a phase, scaled to the unit disc; and
    real invariants, scaled to [-1, 1].

    The numbers of order κ >= 1 are X_{1+κ} and the conjugate of X_{1-κ}, of which one or two combinations vary. Those
    of order 0 are X_1, the size, and the parameters that do not show in the boundary.
    """

    family: Fixed
    others: ParameterInputs
    orders: tuple[int, ...] = eqx.field(static=True)
    """The orders of the complex numbers."""
    combinations: Fixed
    """Coefficients of X_{1+κ} and of the conjugate of X_{1-κ}, real and imaginary part of each: shape (numbers, 4)."""
    sizes: Fixed
    """Middle and half width of the real and the imaginary part of X_1: shape (2, 2)."""
    varying: tuple[int, ...] = eqx.field(static=True)
    """Which of these two parts vary."""
    costs: tuple[float, ...] = eqx.field(static=True)
    """The cost of one degree of each number, complex ones first: less where its powers fall off more slowly."""

    def __call__(self, parameters: Mapping[str, Any], dtype: Any) -> tuple[Complex[Array, " k"], Float[Array, " l"]]:
        orders = np.array(self.orders)
        found = _fourier(self.family.value, parameters, dtype, np.concatenate([1 + orders, 1 - orders, [1]]))
        first, second, size = found[: len(orders)], found[len(orders) : -1], found[-1]
        a, b, c, d = self.combinations.value.astype(dtype).T
        turning = jax.lax.complex(a, b) * first + jax.lax.complex(c, d) * second.conj()
        middle, half = self.sizes.value.astype(dtype)
        still = (jnp.stack([size.real, size.imag]) - middle) / half
        others = self.others.vector(parameters).astype(dtype)
        return turning, jnp.concatenate([still[np.array(self.varying, int)], others])


def turning_numbers(
    problem: Problem, dtype: Any = float, octaves: tuple[str, ...] = ()
) -> tuple[TurningNumbers, tuple[Column, ...]] | None:
    """The shape coordinates and the columns of the data; None where rotations do not help.

    It does where one smooth curve is varied about a circle by as many parameters as it has numbers that vary, so that
    with every shape the turned ones are in the family, or nearly so, and where the data are smooth.
    """
    found = _found(problem)
    if found is None:
        return None
    shape, columns = found
    numbers = TurningNumbers(
        Fixed(problem.family),
        ParameterInputs(shape.others, 0, tuple(name for name in octaves if name in shape.others.names)),
        shape.orders,
        Fixed(jnp.asarray(shape.combinations, dtype)),
        Fixed(jnp.asarray(shape.sizes, dtype)),
        shape.varying,
        shape.costs,
    )
    return numbers, columns


class _Shape(NamedTuple):
    """The fields of `TurningNumbers` as plain numbers."""

    others: Box
    orders: tuple[int, ...]
    combinations: np.ndarray
    sizes: np.ndarray
    varying: tuple[int, ...]
    costs: tuple[float, ...]


@remembered
def _found(problem: Problem) -> tuple[_Shape, tuple[Column, ...]] | None:
    if not _knows_no_direction(problem):
        return None
    # In single precision rounding would vary too; and an operator must look the same in either.
    with double_precision():
        shape = _shape_of(problem)
        columns = columns_of(problem) if shape is not None else None
    return None if shape is None or columns is None else (shape, columns)


def asked_once(problem: Problem) -> tuple[str, ...]:
    """Parameters that are not sampled: the answer is linear in them, or turns with them."""
    direction = wave_direction(problem)
    return (*superposition(problem).names, *([direction] if direction else []))


def _knows_no_direction(problem: Problem) -> bool:
    kernel = problem.representation.kernel
    # A kernel of one's own may have a direction, and so may a coefficient that depends on the place.
    place = isinstance(getattr(problem.condition, "coefficient", None), UserFunction)
    others = problem.parameters.without(asked_once(problem))
    return (
        not problem.family.in_space
        and len(problem.family.curves) == 1
        and not sides(problem.family)
        # A kernel of somebody's own might have a direction, even one derived from these.
        and type(kernel) in (Laplace, Helmholtz, ModifiedHelmholtz)
        and problem.condition.channels == 1
        and problem.at_infinity is None
        and not place
        and all(spec.is_linear for _, spec in others.specs)
    )


def _shape_of(problem: Problem) -> _Shape | None:
    alone = asked_once(problem)
    box = problem.parameters.without(alone)
    elsewhere = names_in((problem.representation, problem.condition, problem.data))
    told = [name for name in box.names if name in names_in(problem.family) and name not in elsewhere]
    members = training_members(problem.parameters, MEMBERS, np.dtype(float))
    found, s = (np.asarray(part) for part in _placed(problem.family, members))
    centre = NODES // 2 + 1
    scale = float(np.mean(np.abs(found[:, centre])))
    # Where s runs clockwise it turns the other way; nodes begin at s = 0.
    if np.max(np.abs(s - 2 * np.pi * np.arange(NODES) / NODES)) > 1e-6:
        return None
    orders, combinations, sizes_of = [], [], []
    for order in range(1, NODES // 2 - 1):
        pair = np.stack([found[:, centre + order], found[:, centre - order].conj()], axis=1)
        if np.max(np.abs(pair)) < LEAST * scale:
            continue
        moments, directions = np.linalg.eigh(pair.T @ pair.conj() / len(pair))
        for moment, direction in zip(moments, directions.T, strict=True):
            if moment < (LEAST * scale) ** 2:
                continue
            first = direction[np.argmax(np.abs(direction) > 0.5)]
            combination = (direction * np.abs(first) / first).conj()
            values = pair @ combination
            if np.abs(np.mean(values)) > CENTRED * np.sqrt(np.mean(np.abs(values) ** 2)):
                return None
            orders.append(order)
            combinations.append(combination / np.max(np.abs(values)))
            sizes_of.append(np.max(np.abs(values)))
    parts = np.stack([np.real(found[:, centre]), np.imag(found[:, centre])])
    low, high = parts.min(axis=1), parts.max(axis=1)
    varying = tuple(int(i) for i in np.flatnonzero(high - low > LEAST * scale))
    others = box.without(told)
    stretches = [*[1] * len(varying), *_stretches(problem, others, scale)]
    # Where a wave comes from every side, it turns against the body also where the turned bodies are not in the family.
    needed = len(orders) if wave_direction(problem) else 2 * len(orders)
    if needed + len(stretches) > len(axes_of(box)) or not orders:
        return None
    costs = _costs(np.array(orders), np.array(sizes_of) / scale, np.array(stretches))
    rows = np.array([[c[0].real, c[0].imag, c[1].real, c[1].imag] for c in combinations])
    sizes = np.stack([(low + high) / 2, np.where(high > low, (high - low) / 2, 1)])
    return _Shape(others, tuple(orders), rows, sizes, varying, costs)


def _costs(orders: np.ndarray, sizes: np.ndarray, stretches: np.ndarray) -> tuple[float, ...]:
    """The cost of one degree of each number: the logarithm of its assumed decay per degree, relative to the fastest.

    In hundredths of the dearest, so that rounding elsewhere leaves them the same.
    """
    shares = np.clip(SLOPE * orders * sizes, *SHARES)
    unit = np.log(np.min(shares))
    real = np.minimum(np.log(REAL) / unit, 1 / stretches)
    return tuple(float(cost) for cost in np.round([*np.log(shares) / unit, *real], 2))


def _stretches(problem: Problem, box: Box, size: float) -> list[int]:
    """For every number of the box 1; for a wavenumber, by how much it turns the phase of waves through a body and round
    it."""
    wavenumber, found = wavenumber_name(problem), []
    for name, spec in box.specs:
        turns = 0.0
        if name == wavenumber:
            low, high = spec.bounds
            turns = (high - low) / 2 * (2 + np.pi) * size
        found += [max(1, round(turns / RADIANS))] * spec.axes
    return found


@eqx.filter_jit
def _placed(family: Any, members: Values) -> tuple[Complex[Array, "members n"], Float[Array, "members n"]]:
    """The Fourier coefficients X_m of members from m = -NODES/2 on, and the coordinates of their nodes."""
    waves = np.arange(-NODES // 2, NODES // 2)

    def one(parameters):
        return _fourier(family, parameters, float, waves), rule_for(family, NODES).place(family, parameters, float).s

    return jax.vmap(one)(members)


def _fourier(family: Any, parameters: Mapping[str, Any], dtype: Any, waves: np.ndarray) -> Complex[Array, " waves"]:
    """The Fourier coefficients X_m for these m."""
    x = rule_for(family, NODES).place(family, parameters, dtype).x
    transform = np.exp(-2j * np.pi * np.outer(waves, np.arange(NODES)) / NODES) / NODES
    z = jax.lax.complex(x[:, 0], x[:, 1])
    return jnp.asarray(transform, z.dtype) @ z
