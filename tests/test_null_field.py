"""Waves on sound-soft bodies by the flux on them: exact solutions, other representations, errors, corners, space."""

import dataclasses

import jax
import jax.numpy as jnp
import mie
import numpy as np
import pytest
from scipy.special import hankel1, jn_zeros
from space import INCIDENCE, directions

import edgewise as ew

HELMHOLTZ = ew.Helmholtz(dim=2, wavenumber="k")
K = ew.Box(k=(0.01, 60.0), angle=ew.Angle(default=0.0))
CIRCLE = ew.Problem(ew.Ellipse(1.0, 1.0), K, ew.NullField(HELMHOLTZ), ew.PlaneWave("angle"), "exterior")
KITE = dataclasses.replace(
    CIRCLE, family=ew.Curve(lambda s: (jnp.cos(s) + 0.65 * jnp.cos(2 * s) - 0.65, 1.5 * jnp.sin(s)))
)
# Where the inside of the unit circle resonates for Dirichlet and for Neumann data.
RESONANCES = (float(jn_zeros(0, 1)[0]), float(jn_zeros(1, 2)[1]))
ANGLES = 2 * np.pi * np.arange(48) / 48
AROUND = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=-1)


def combined(problem):
    return dataclasses.replace(problem, representation=ew.CombinedField(problem.representation.kernel))


@pytest.mark.parametrize("k", [0.01, 1.0, *RESONANCES, 20.0])
def test_the_flux_on_a_circle(k, measured):
    """The density against its series: the flux of the whole field on the unit circle is Σ 2 i^m e^{imθ} / (iπ H_m(k))."""
    solution = ew.solve(CIRCLE, k=k, quadrature=ew.Kress(160))
    m = np.arange(-60, 61)
    s = np.asarray(solution.boundary.s)
    terms = 2 * 1j**m * np.exp(1j * np.outer(s, m)) / (1j * np.pi * hankel1(m, k))
    flux = np.sum(np.where(np.isfinite(terms), terms, 0), axis=1)
    found = -np.asarray(solution.density.values)
    measured(f"flux on the circle, k = {k:.3g}", np.max(np.abs(found - flux)) / np.max(np.abs(flux)), 1e-11)


@pytest.mark.parametrize("k", [0.5, 6.0])
def test_fields_are_those_of_the_combined_field(k, measured):
    found, true = (ew.solve(p, k=k, angle=0.7) for p in (KITE, combined(KITE)))
    x, normal = found.boundary.x[::16], found.boundary.normal[::16]
    points = np.concatenate([3 * AROUND, x, x + 1e-5 * normal])
    measured(f"kite, k = {k}, field", float(jnp.max(jnp.abs(found(points) - true(points)))), 1e-10)
    difference = found.far_field(AROUND) - true.far_field(AROUND)
    measured(f"kite, k = {k}, far field", float(jnp.max(jnp.abs(difference))), 1e-11)


@pytest.mark.slow
def test_two_bodies_and_corners(measured):
    circles = [ew.Translate(ew.Ellipse(1.0, 1.0), (sign * 1.5, 0.0)) for sign in (-1, 1)]
    for name, family, bound in (("two circles", ew.Union(circles), 1e-10), ("a teardrop", ew.Teardrop(), 1e-8)):
        problem = dataclasses.replace(CIRCLE, family=family)
        found, true = (ew.solve(p, k=3.0, angle=0.4).far_field(AROUND) for p in (problem, combined(problem)))
        measured(f"{name}, far field", float(jnp.max(jnp.abs(found - true))), bound)


def test_errors_are_estimated_and_refined():
    true = ew.solve(KITE, k=5.0, angle=1.0)
    rough = ew.solve(KITE, k=5.0, angle=1.0, quadrature=ew.Kress(40))
    error = np.sqrt(2 * np.pi * np.mean(np.abs(rough.far_field(AROUND) - true.far_field(AROUND)) ** 2))
    assert 1 <= float(rough.error_estimate(of="far_field").value) / error <= 10
    assert np.max(np.abs(rough(3 * AROUND) - true(3 * AROUND))) <= float(rough.error_estimate().value)
    better = rough.refine(1e-9)
    assert np.max(np.abs(better.far_field(AROUND) - true.far_field(AROUND))) < 1e-7


def test_derivatives_in_the_wavenumber():
    def power(k):
        return jnp.abs(ew.solve(KITE, k=k, quadrature=ew.Kress(96)).far_field(AROUND[5])) ** 2

    difference = (power(2.0 + 1e-5) - power(2.0 - 1e-5)) / 2e-5
    assert abs(jax.grad(power)(2.0) - difference) < 1e-6 * abs(difference)


@pytest.mark.slow
def test_a_ball_in_space(measured):
    problem = ew.Problem(
        ew.Sphere(),
        ew.Box(k=(0.1, 20.0)),
        ew.NullField(ew.Helmholtz(3, "k")),
        ew.PlaneWave(jnp.array(INCIDENCE)),
        "exterior",
    )
    around = directions(40)
    # Where the inside resonates.
    solution = ew.solve(problem, k=np.pi, quadrature=ew.Duffy(5))
    true = mie.far_field(np.pi, around, INCIDENCE)
    error = np.linalg.norm(solution.far_field(around) - true) / np.linalg.norm(true)
    measured("ball by its flux, k = π, 150 nodes, far field", error, 2e-3)
    assert float(solution.error_estimate(of="far_field").relative) > error / 2


WRONG = {
    "laplace": (
        lambda: ew.Problem(CIRCLE.family, K, ew.NullField(ew.Laplace(2)), CIRCLE.data, "exterior"),
        "no incident",
    ),
    "inside": (lambda: dataclasses.replace(CIRCLE, side="interior"), "arrive from outside"),
    "hard": (lambda: dataclasses.replace(CIRCLE, condition=ew.Neumann()), "sound-soft"),
    "a source": (lambda: dataclasses.replace(CIRCLE, data=ew.PointSource((0.1, 0.0))), "Use `CombinedField"),
    "no coupling": (lambda: ew.NullField(HELMHOLTZ, 0.0), "must be positive, got 0.0"),
    "a function": (lambda: dataclasses.replace(CIRCLE, data=lambda x: x[0]), r"Write `data=PlaneWave\(direction\)`"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_it_does_not_serve_is_said(name):
    call, words = WRONG[name]
    with pytest.raises(ValueError, match=words):
        call()
