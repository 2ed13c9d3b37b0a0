"""What waves ask of a network: the size of bodies in wavelengths, and by how much phases turn over a box."""

import math
from typing import NamedTuple

import jax
import numpy as np
import scipy.special

from edgewise.base.named import bind
from edgewise.base.parameters import Box
from edgewise.base.precision import double_precision
from edgewise.learn.amounts import AbstractAmounts, AngleHarmonics
from edgewise.learn.frame import wave_direction, wavenumber_name
from edgewise.learn.multiplied import polynomials, superposition
from edgewise.learn.remembered import remembered
from edgewise.potentials import CombinedField
from edgewise.problem import Problem
from edgewise.quadrature import rule_for

# What is left out of a plane wave.
SMALL = 1e-10


class Waves(NamedTuple):
    """The largest sizes of bodies, and the range of wavenumbers, over members; all 0 where there are no waves."""

    half_width: float = 0.0
    across: float = 0.0
    """The largest distance from the third axis; in the plane, from the origin."""
    away: float = 0.0
    """The largest distance from the origin."""
    least: float = 0.0
    most: float = 0.0


@remembered
def waves_of(problem: Problem) -> Waves:
    if not problem.representation.kernel.oscillates:
        return Waves()
    rule = rule_for(problem.family, 4 if problem.family.in_space else 32)
    sizes, wavenumbers = [], []
    # An operator must look the same in sessions of either precision.
    with double_precision():
        draws = problem.parameters.extremes(jax.random.key(0), 6)
        for i in range(6):
            member = {name: value[i] for name, value in draws.items()}
            x = np.asarray(rule.place(problem.family, member, float).x)
            widths, distances = np.ptp(x, axis=0) / 2, (np.linalg.norm(part, axis=-1) for part in (x[:, :2], x))
            sizes.append([np.max(part) for part in (widths, *distances)])
            wavenumbers.append(np.abs(np.asarray(bind(problem.representation.kernel, member).wavenumber)))
    half_width, across, away = (float(size) for size in np.max(sizes, axis=0))
    return Waves(half_width, across, away, float(min(wavenumbers)), float(max(wavenumbers)))


def turns_of_wavenumber(problem: Problem) -> float:
    """Radians by which a wavenumber, from mid-box to its ends, turns the phase of waves through a body and round it."""
    waves = waves_of(problem)
    return (waves.most - waves.least) / 2 * (2 + math.pi) * waves.half_width


def turns_of(problem: Problem) -> float:
    """Radians by which the phase of waves on the far side of a body turns from the middle of the box to its ends."""
    waves = waves_of(problem)
    by_direction = 2 * waves.most * waves.half_width if wave_direction(problem) else 0.0
    return max(turns_of_wavenumber(problem), by_direction)


def degree_costs(problem: Problem, box: Box, degree: int) -> tuple[float, ...]:
    """The cost of a degree of each number beside others of degree up to `degree`: a wavenumber has one more per radian.

    In hundredths, so that rounding elsewhere leaves them the same.
    """
    name = wavenumber_name(problem)
    turns = turns_of_wavenumber(problem)
    share = max(round(degree / (degree + turns), 2), 0.01) if degree else 1.0
    return tuple(share if own == name else 1.0 for own, spec in box.specs for _ in range(spec.axes))


def amounts_of(problem: Problem, order: int) -> AbstractAmounts:
    """The multipliers: harmonics of a plane wave's angle up to this order, parameters of the data, or polynomials of
    one."""
    direction = wave_direction(problem)
    if direction is not None:
        return AngleHarmonics(direction, order)
    found = superposition(problem)
    return found if found.linear or found.around else polynomials(problem) or found


def orders_of(problem: Problem) -> int:
    """The highest harmonic of its angle that a plane wave on these bodies needs for ten digits."""
    waves = waves_of(problem)
    size = waves.most * waves.away
    order = math.ceil(size)
    while abs(scipy.special.jv(order, size)) > SMALL:
        order += 1
    return order


def turning_direction(problem: Problem) -> str | None:
    """The parameter that is the direction of a plane wave on sound-soft bodies of revolution; None where there is
    none."""
    name = wave_direction(problem)
    if name is None or not problem.family.meridians:
        return None
    soft = isinstance(problem.representation, CombinedField) and not problem.condition.takes_flux
    return name if soft and not dict(problem.parameters.specs)[name].is_linear else None
