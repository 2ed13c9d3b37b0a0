"""The series of Mie against what defines it: the boundary condition, the equation, the far field and its energy."""

import mie
import numpy as np
import pytest

EACH = pytest.mark.parametrize("k", [1.0, np.pi, 2 * np.pi, 10.0])
SIDES = pytest.mark.parametrize("hard", [False, True])
INCIDENCE = np.array([2.0, -1.0, 2.0]) / 3


def directions(count=60, seed=0):
    vectors = np.random.default_rng(seed).normal(size=(count, 3))
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def total(k, points, hard, radius):
    return np.exp(1j * k * points @ INCIDENCE) + mie.scattered(k, points, INCIDENCE, hard, radius)


@EACH
@pytest.mark.parametrize("radius", [1.0, 0.7])
def test_no_pressure_on_a_soft_ball(k, radius):
    assert np.abs(total(k, radius * directions(), False, radius)).max() < 1e-13


@EACH
@pytest.mark.parametrize("radius", [1.0, 0.7])
def test_no_flux_through_a_hard_ball(k, radius):
    """By differences: the series goes on to hold a little inside."""
    step = 1e-4
    outer, inner = (total(k, (radius + d) * directions(), True, radius) for d in (step, -step))
    assert np.abs(outer - inner).max() / (2 * step) < 1e-7 * k**3


@EACH
@SIDES
def test_equation(k, hard):
    points = np.random.default_rng(1).uniform(1.1, 2.0, (40, 1)) * directions(40)
    step = 1e-3
    shifts = step * np.concatenate([np.eye(3), -np.eye(3)])
    around = mie.scattered(k, points[:, None] + shifts, INCIDENCE, hard)
    value = mie.scattered(k, points, INCIDENCE, hard)
    laplacian = (around.sum(axis=1) - 6 * value) / step**2
    assert np.abs(laplacian + k**2 * value).max() < 1e-6 * (1 + k) ** 4


@EACH
@SIDES
def test_far_field_is_the_limit(k, hard):
    r = 1e6
    limit = r * np.exp(-1j * k * r) * mie.scattered(k, r * directions(), INCIDENCE, hard)
    far = mie.far_field(k, directions(), INCIDENCE, hard)
    # The next term of h_n is n(n + 1) / 2kr as large.
    assert np.abs(limit - far).max() < 10 * (k + 2) ** 2 / (2 * k * r) * np.abs(far).max()


@EACH
@SIDES
@pytest.mark.parametrize("radius", [1.0, 0.7])
def test_energy(k, hard, radius):
    """The optical theorem, and the integral of |u_inf|² over cos θ."""
    section = mie.cross_section(k, hard, radius)
    forward = mie.far_field(k, INCIDENCE, INCIDENCE, hard, radius)
    assert abs(4 * np.pi / k * forward.imag - section) < 1e-12 * section
    cosine, weight = np.polynomial.legendre.leggauss(60)
    around = np.stack([np.sqrt(1 - cosine**2), 0 * cosine, cosine], axis=-1)
    far = mie.far_field(k, around, (0, 0, 1), hard, radius)
    assert abs(2 * np.pi * weight @ np.abs(far) ** 2 - section) < 1e-12 * section


def test_small_balls():
    """A soft one scatters -a in all directions, as k a tends to 0."""
    for k in (1e-3, 1e-9):
        assert np.abs(mie.far_field(k, directions(), INCIDENCE) + 1).max() < 2 * k
        assert np.abs(mie.scattered(k, 2 * directions(), INCIDENCE) + 0.5).max() < 2 * k
